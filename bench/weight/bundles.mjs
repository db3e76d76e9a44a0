import { builtinModules, createRequire, isBuiltin } from 'node:module'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { builtModule, packageFolder } from '../built.mjs'

const pathOf = (name) => JSON.stringify(fileURLToPath(builtModule(name)))

/** A worker that answers with a model: what it imports is what an edge runtime has to load. */
const worker = () => `
import { Agent } from ${pathOf('index')}

export default {
  fetch: async (request) => {
    const agent = new Agent('openai:gpt-5-mini', { connection: { fetch }, apiKey: 'none' })
    const { output } = await agent.send(await request.text())
    return new Response(output)
  },
}`

/** A page that answers with a model of one provider. */
const page = () => `
import { Agent } from ${pathOf('core')}
import { openai } from ${pathOf('providers/openai')}

export const agent = new Agent(openai('gpt-6-luna'))`

/** The bundle of an edge worker that has its own `fetch`: minified, gzipped, without undici and zod. */
export const edgeBundle = () => bundleOf(worker())

/** The bundle of a page with one provider, as a value. */
export const pageBundle = () => bundleOf(page())

const bundleOf = async (contents) => {
  // It comes with the package's own build tool.
  const { build } = createRequire(new URL('../../package.json', import.meta.url))('esbuild')
  const { outputFiles, metafile } = await build({
    metafile: true,
    stdin: { contents, resolveDir: packageFolder() },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    external: ['undici', 'zod', 'node:*', ...builtinModules],
    logLevel: 'silent',
  })
  const [{ imports }] = Object.values(metafile.outputs)
  const fromNode = imports.filter(({ path, kind }) => kind === 'import-statement' && isBuiltin(path))
  return {
    size: gzipSync(outputFiles[0].contents, { level: 9 }).length / 1000,
    fromNode: new Set(fromNode.map(({ path }) => path)).size,
  }
}
