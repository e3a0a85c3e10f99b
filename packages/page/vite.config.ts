import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

/** Packs each file once and well, so that the server need not pack it for each browser. */
const packed: Plugin = {
  name: 'packed',
  apply: 'build',
  // After the files are written: until then, Vite still fills in names.
  writeBundle({ dir }, bundle) {
    for (const fileName of Object.keys(bundle)) {
      const path = join(dir!, fileName);
      writeFileSync(`${path}.br`, brotliCompressSync(readFileSync(path)));
    }
  },
};

// The page of `gmsi serve`: built once, served by dist/, and nothing of it comes from elsewhere.
export default defineConfig({
  base: './',
  plugins: [packed],
  // `npm run page` shows the page from its sources, with the data of `gmsi serve`. The host stays: another one would be refused.
  server: { proxy: { '/api/': { target: 'http://127.0.0.1:8426', changeOrigin: false } } },
  build: {
    outDir: '../../dist/page',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The licences of what is bundled.
    license: { fileName: 'LICENSES.md' },
  },
});
