import { defineConfig } from 'vite';

// The page of `gmsi serve`: built once, served by dist/, and nothing of it comes from elsewhere.
export default defineConfig({
  root: 'src/web/page',
  base: './',
  build: {
    outDir: '../../../dist/page',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
