/** Bun has an undici of its own, which cannot close a client: requests go through its `fetch` there. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { storeFile } from '../durable/storeFile.ts'
import { fromRegistry } from '../fromRegistry.ts'
import { rawServer, untilClose } from './rawServer.ts'

const stream = (...texts: string[]) =>
  texts
    .map((text) => `data: {"choices":[{"index":0,"delta":{"content":"${text}"}}]}\n\n`)
    .concat('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n', 'data: [DONE]\n\n')
    .join('')

const script = (root: string) => `
import { Agent } from ${JSON.stringify(join(root, 'src/index.ts'))}
const agent = new Agent('openai-compatible:m', { baseUrl: process.argv[2], apiKey: 'k', retry: { maxRetries: 0 } })
console.log('send', (await agent.send('hi')).output)
for await (const { output } of agent.sendStream('hi')) {
  console.log('left after', output)
  break
}
console.log('again', (await agent.send('hi')).output)
console.log('aborted', await agent.send('hi', { signal: AbortSignal.abort() }).catch((error) => error.name))
console.log('end')
`

test('an agent sends, streams, is left and aborted on Bun', async ({ skip }) => {
  const found = await fromRegistry('bun', '1.4.4')
  if ('problem' in found) return skip(found.problem)
  const server = await rawServer(({ socket }) => socket.end(`${untilClose()}${stream('Hello ', 'Bun.')}`))
  const path = join(storeFile(), '..', 'script.ts')
  await writeFile(path, script(join(import.meta.dirname, '../..')))
  const bun = join(found.folder, '../.bin/bun')
  const { stdout } = await promisify(execFile)(bun, [path, server.url], { timeout: 100_000 })
  expect(stdout.trim().split('\n')).toEqual([
    'send Hello Bun.',
    expect.stringContaining('left after'),
    'again Hello Bun.',
    'aborted AbortedError',
    'end',
  ])
})
