// Builds the entry for apps on XState 6, after the others: whole, with its own copy of XState 5, since the app's is another.
import { cp, readFile, writeFile } from 'node:fs/promises'
import { build } from 'tsup'

await build({
  config: false,
  silent: true,
  entry: { xstate6: 'src/xstate6/index.ts' },
  format: ['esm', 'cjs'],
  target: 'node20',
  dts: { compilerOptions: { noCheck: true } },
  treeshake: true,
  splitting: false,
  noExternal: [/^uuid$/, /^xstate$/, /^fastest-levenshtein$/],
  shims: true,
})

// In such an app `xstate` is XState 6, which is `xstate6` here; the types of XState 5 go with the entry.
await cp('node_modules/xstate/dist/declarations/src', 'dist/xstate5', { recursive: true })
await writeFile('dist/xstate5/package.json', '{ "type": "commonjs" }\n')
for (const file of ['dist/xstate6.d.ts', 'dist/xstate6.d.cts']) {
  const types = await readFile(file, 'utf8')
  const ofOurs = types.replaceAll("from 'xstate'", "from './xstate5/index.js'")
  await writeFile(file, ofOurs.replaceAll("from 'xstate6'", "from 'xstate'"))
}
