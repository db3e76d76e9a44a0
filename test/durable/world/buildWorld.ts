import { readFileSync } from 'node:fs'
import { snapshotVersion } from '../../../machines/stored/version.ts'
import { buildScripts } from '../../buildScripts.ts'

/** The scripts of the world, ready to be started. `next`: a worker of the next release. */
export type WorldScripts = { model: string; worker: string; next: string }

/** Builds them for a test file. */
export const buildWorld = async (name: string): Promise<WorldScripts> => {
  const worker = 'test/durable/world/workerProcess.ts'
  const scripts = await buildScripts(name, { model: 'test/durable/world/modelProcess.ts', worker })
  const { next } = await buildScripts(`${name}-next`, { next: worker }, { esbuildPlugins: [nextRelease] })
  return { ...scripts, next }
}

/** Writes snapshots of the next minor version, which this release does not read. */
const nextRelease = {
  name: 'next-release',
  setup(build: {
    onLoad(on: { filter: RegExp }, load: (file: { path: string }) => { contents: string; loader: 'ts' }): void
  }) {
    build.onLoad({ filter: /machines\/stored\/version\.ts$/ }, ({ path }) => {
      const minor = Number(snapshotVersion.split('.')[1])
      const source = readFileSync(path, 'utf8')
      const contents = source.replace(`const minor = ${minor}\n`, `const minor = ${minor + 1}\n`)
      if (contents === source) throw new Error('The version is written in another way now.')
      return { contents, loader: 'ts' }
    })
  },
}
