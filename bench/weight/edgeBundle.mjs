import { builtinModules, createRequire, isBuiltin } from 'node:module'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { builtModule, packageFolder } from '../built.mjs'

/** A worker that answers with a model: what it imports is what an edge runtime has to load. */
const worker = (path) => `
import { Agent } from ${JSON.stringify(path)}

export default {
  fetch: async (request) => {
    const agent = new Agent('openai:gpt-5-mini', { connection: { fetch }, apiKey: 'none' })
    const { output } = await agent.send(await request.text())
    return new Response(output)
  },
}`

/** The bundle of an edge worker that has its own `fetch`: minified, gzipped, without undici and zod. */
export const edgeBundle = async () => {
  // It comes with the package's own build tool.
  const { build } = createRequire(new URL('../../package.json', import.meta.url))('esbuild')
  const { outputFiles, metafile } = await build({
    metafile: true,
    stdin: { contents: worker(fileURLToPath(builtModule())), resolveDir: packageFolder() },
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
