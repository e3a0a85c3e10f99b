import { defineConfig, type Plugin } from 'vite';
import { shapes, size } from './src/web/page/draw/world.ts';

/** The world map is the same for everyone: it is drawn here, so that no browser has to. */
const drawnWorld: Plugin = {
  name: 'drawn-world',
  enforce: 'pre',
  load: (id) =>
    id.endsWith('/draw/world.ts')
      ? `export const size = ${JSON.stringify(size)}; export const shapes = ${JSON.stringify(shapes)};`
      : null,
};

// The page of `gmsi serve`: built once, served by dist/, and nothing of it comes from elsewhere.
export default defineConfig({
  root: 'src/web/page',
  base: './',
  plugins: [drawnWorld],
  build: {
    outDir: '../../../dist/page',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
