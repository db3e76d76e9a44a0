import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { prompt } from '../tool.mjs'
import { checkText } from './checkText.mjs'
import { cpuOf } from './cpu.mjs'
import { peakOf } from './heap.mjs'

const clients = fileURLToPath(new URL('../chatClients.mjs', import.meta.url))

/** Many pages chat at once: processor time of the server for each chunk, and the most memory it needed. */
export const chats = async ({ open, chunks, streams }) => {
  const { listener } = await open()
  const server = createServer(listener)
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${server.address().port}/api/chat`
  const ask = async (count) => {
    const child = fork(clients)
    child.send({ url, count, prompt })
    const [texts] = await once(child, 'message')
    for (const text of texts) checkText({ text }, chunks)
  }
  // A few, so that what is loaded with the first request is there.
  await ask(Math.min(streams, 20))
  let cpu
  const { peakHeap } = await peakOf(async () => {
    ;({ cpu } = await cpuOf(() => ask(streams)))
  })
  return { cpu: cpu / (streams * chunks), peakHeap }
}
