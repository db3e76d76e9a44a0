import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { builtModule } from '../built.mjs'
import { agentOf, streaming } from './statewire.mjs'

const pageFile = fileURLToPath(new URL('../page.mjs', import.meta.url))

/** An agent with the local inspector recording every run. `openPage` opens one of its pages, in another process. */
export const open = async (options) => {
  const { startInspector } = await import(builtModule('inspector')).catch(() => {
    throw new Error('the inspector is not built')
  })
  const inspector = await startInspector()
  // Its process is there before: to start one takes time, too.
  const page = fork(pageFile)
  return {
    ...streaming(agentOf({ ...options, inspect: inspector.inspect })),
    async openPage() {
      page.send(inspector.url)
      await once(page, 'message')
    },
    async close() {
      page.kill()
      await inspector.close()
    },
  }
}
