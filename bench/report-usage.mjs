// Preloaded into the process under test: writes what it used to descriptor 3 as it ends.
import { writeSync } from 'node:fs';

process.on('exit', () => writeSync(3, JSON.stringify(process.resourceUsage())));
