import { copyFile, cp, readFile, writeFile } from 'node:fs/promises'
import { build, defineConfig, type Options } from 'tsup'
import buildPage from './scripts/page.ts'

const library = {
  index: 'src/index.ts',
  machines: 'machines/index.ts',
  providers: 'providers/index.ts',
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

/** The entry for apps on XState 6: whole, with its own copy of XState 5, since the app's copy is another one. */
const forXState6: Options = {
  config: false,
  silent: true,
  entry: { xstate6: 'src/xstate6/index.ts' },
  format: ['esm', 'cjs'],
  target: 'node20',
  dts: { compilerOptions: { noCheck: true } },
  treeshake: true,
  splitting: false,
  noExternal: ['uuid', 'xstate'],
  shims: true,
}

/** In such an app `xstate` is XState 6, which is `xstate6` here; the types of XState 5 go with the entry. */
const nameXStates = async (): Promise<void> => {
  await cp('node_modules/xstate/dist/declarations/src', 'dist/xstate5', { recursive: true })
  await writeFile('dist/xstate5/package.json', '{ "type": "commonjs" }\n')
  for (const file of ['dist/xstate6.d.ts', 'dist/xstate6.d.cts']) {
    const types = await readFile(file, 'utf8')
    const ofOurs = types.replaceAll("from 'xstate'", "from './xstate5/index.js'")
    await writeFile(file, ofOurs.replaceAll("from 'xstate6'", "from 'xstate'"))
  }
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
  // uuid's `v7` and @xstate/graph's `getAdjacencyMap` become part of the code: two functions are not worth a package each,
  // uuid as a package would add a fifth to the time of the import, and its ESM cannot be required before Node 20.19.
  noExternal: ['uuid', '@xstate/graph'],
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
    await build(forXState6)
    await nameXStates()
    await copyFile('node_modules/elkjs/lib/elk.bundled.js', 'dist/elk.bundled.cjs')
    await buildPage()
    await cp('src/inspector/page', 'dist/page', {
      recursive: true,
      filter: (file) => !file.endsWith('.d.ts'),
    })
  },
})
