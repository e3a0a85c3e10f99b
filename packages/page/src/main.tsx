import './style.css';

import { render } from 'preact';
import { followAddress } from './address.ts';
import { followChanges } from './api.ts';
import { App } from './app.tsx';

followAddress();
followChanges();
render(<App />, document.getElementById('page')!);
