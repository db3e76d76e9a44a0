import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { inspectedBy } from './statewireInspected.mjs'

/** The same with a page open, in a process of its own. */
export const open = async (options) => {
  const { inspector, contender } = await inspectedBy(options)
  const page = fork(fileURLToPath(new URL('../page.mjs', import.meta.url)), [`${inspector.url}events`])
  await once(page, 'message')
  return {
    ...contender,
    close: async () => {
      page.kill()
      await inspector.close()
    },
  }
}
