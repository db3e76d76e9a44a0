import { readdirSync } from 'node:fs'
import { copyFile, cp } from 'node:fs/promises'
import { defineConfig } from 'tsup'
import buildPage from './scripts/page.ts'

/** Providers as values: an entry for each file. */
const values = Object.fromEntries(
  readdirSync('providers/values').map((file) => [
    `providers/${file.replace('.ts', '')}`,
    `providers/values/${file}`,
  ]),
)

const library = {
  index: 'src/index.ts',
  core: 'src/core/index.ts',
  registry: 'src/registry/index.ts',
  machines: 'machines/index.ts',
  providers: 'providers/index.ts',
  ...values,
  testing: 'src/testing/index.ts',
  simulator: 'src/simulator/index.ts',
  visualize: 'src/visualize/index.ts',
  inspector: 'src/inspector/index.ts',
  durable: 'src/durable/index.ts',
  dbos: 'src/dbos/index.ts',
  telemetry: 'src/telemetry/index.ts',
  mcp: 'src/mcp/index.ts',
  ui: 'src/ui/index.ts',
  react: 'src/react/index.ts',
}

export default defineConfig({
  entry: { ...library, cli: 'src/cli/main.ts' },
  format: ['esm', 'cjs'],
  target: 'node20',
  // The types are checked by `npm test`, once: here they are only written.
  dts: { entry: library, compilerOptions: { noCheck: true } },
  clean: true,
  splitting: true,
  treeshake: true,
  // uuid's `v7`, @xstate/graph's `getAdjacencyMap` and the distance of two words become part of the code: three functions are
  // not worth a package each, uuid as a package would add a fifth to the time of the import, and its ESM cannot be required
  // before Node 20.19.
  noExternal: ['uuid', '@xstate/graph', 'fastest-levenshtein'],
  // The inspector finds its page beside its code, in CommonJS, too.
  shims: true,
  // The layouter of `visualize` is no dependency: one copy of it lies beside the code, loaded with the first picture.
  esbuildPlugins: [
    {
      name: 'elk',
      setup: ({ onResolve }) =>
        onResolve({ filter: /^elkjs\// }, () => ({ path: './elk.bundled.cjs', external: true })),
    },
  ],
  onSuccess: async () => {
    await copyFile('node_modules/elkjs/lib/elk.bundled.js', 'dist/elk.bundled.cjs')
    await buildPage()
    await cp('src/inspector/page', 'dist/page', {
      recursive: true,
      filter: (file) => !file.endsWith('.d.ts'),
    })
  },
})
