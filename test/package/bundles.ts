import { readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build, type Plugin } from 'esbuild'

/** A bundle: its code, its weight in KB as it travels, and the files that are in it, with what each of them adds. */
export type Bundle = { code: string; gzip: number; files: Map<string, number> }

type Platform = 'browser' | 'node'

const made = new Map<string, Promise<Bundle>>()

/** Bundles a program as a user does, in one file: minified, without undici and zod. */
export const bundle = (program: string, platform: Platform): Promise<Bundle> => {
  const key = `${platform} ${program}`
  const known = made.get(key) ?? bundled(program, platform)
  made.set(key, known)
  return known
}

const bundled = async (program: string, platform: Platform): Promise<Bundle> => {
  const { outputFiles, metafile } = await build({
    stdin: { contents: program, resolveDir: process.cwd(), loader: 'ts' },
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform,
    external: [
      'zod',
      'aws4fetch',
      '@smithy/*',
      '@dbos-inc/*',
      ...(platform === 'node' ? ['undici'] : builtinModules),
    ],
    plugins: [fromSources(platform)],
    logLevel: 'silent',
  })
  const [{ text = '', contents = new Uint8Array() } = {}] = outputFiles
  const [{ inputs = {} } = {}] = Object.values(metafile.outputs)
  const files = Object.entries(inputs).filter(
    ([file, { bytesInOutput }]) => bytesInOutput > 0 && !/^(<stdin>|\(disabled\))/.test(file),
  )
  return {
    code: text,
    gzip: gzipSync(contents, { level: 9 }).length / 1000,
    files: new Map(files.map(([file, { bytesInOutput }]) => [file, bytesInOutput])),
  }
}

/** Imports of the package are resolved as package.json says, and lead to the sources of what is built. */
const fromSources = (platform: Platform): Plugin => ({
  name: 'statewire',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^statewire(\/|$)/ }, ({ path }) => {
      const built = builtFile(path.replace('statewire', '.'), ['import', 'default', platform])
      return { path: `${process.cwd()}/${sourceOf(built)}`, sideEffects: hasEffect.has(built) }
    }),
})

const { exports, sideEffects } = JSON.parse(readFileSync('package.json', 'utf8'))
const hasEffect = new Set<string>(sideEffects)

/** The file of an entry: the first of its conditions that is met. */
const builtFile = (entry: string, conditions: readonly string[]): string => {
  const [key, name = ''] = entry in exports ? [entry] : ['./providers/*', entry.split('/').at(-1)]
  const resolve = (target: unknown): string | undefined => {
    if (typeof target === 'string') return target.replace('*', name)
    const met = Object.entries(Object(target)).filter(([condition]) => conditions.includes(condition))
    for (const [, each] of met) {
      const found = resolve(each)
      if (found) return found
    }
    return undefined
  }
  const found = resolve(exports[key])
  if (found) return found
  throw new Error(`package.json has no ${entry}.`)
}

const sourceOf = (built: string): string => {
  const name = built.replace('./dist/', '').replace('.js', '')
  if (name === 'index') return 'src/index.ts'
  if (name.startsWith('providers/')) return `${name.replace('/', '/values/')}.ts`
  return /^(machines|providers)$/.test(name) ? `${name}/index.ts` : `src/${name}/index.ts`
}

/** The folders, and packages, of the files in a bundle, with the bytes that each of them adds. */
export const roomsOf = ({ files }: Bundle): Map<string, number> => {
  const rooms = new Map<string, number>()
  for (const [file, bytes] of files) {
    const [, ownPackage] = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file) ?? []
    const room = ownPackage ?? dirname(file)
    rooms.set(room, (rooms.get(room) ?? 0) + bytes)
  }
  return rooms
}
