import { buildScripts } from '../../buildScripts.ts'

/** The scripts of the world, ready to be started. */
export type WorldScripts = { model: string; worker: string }

/** Builds them for a test file. */
export const buildWorld = (name: string): Promise<WorldScripts> =>
  buildScripts(name, {
    model: 'test/durable/world/modelProcess.ts',
    worker: 'test/durable/world/workerProcess.ts',
  })
