// A server with habits that the reference servers do not have. Its argument is a file in which it writes down what it did.
import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { z } from 'zod'

const log = process.argv[2]
const done = (what) => log && appendFileSync(log, `${what}\n`)
const text = (value) => ({ content: [{ type: 'text', text: value }] })
const readOnly = { readOnlyHint: true }

const server = new McpServer({ name: 'odd', version: '1' }, { instructions: 'Be odd.' })

server.registerTool('act', { inputSchema: { what: z.string() } }, ({ what }) => {
  done(what)
  return text(`did ${what}`)
})

server.registerTool('act_and_die', { annotations: readOnly }, () => {
  done('died')
  process.exit(1)
})

server.registerTool('beat', { annotations: readOnly }, async ({ signal, _meta, sendNotification }) => {
  const progressToken = _meta?.progressToken
  // Until it is cancelled, or the test has seen enough.
  for (let progress = 1; !existsSync(`${log}.enough`); progress += 1) {
    await setTimeout(50, undefined, { signal })
    const params = { progressToken, progress, message: `beat ${progress}` }
    if (progressToken !== undefined) await sendNotification({ method: 'notifications/progress', params })
  }
  return text('beaten')
})

server.registerTool('sleep', { annotations: readOnly }, async ({ signal }) => {
  await setTimeout(60_000, undefined, { signal }).catch(() => done('cancelled'))
  return text('slept')
})

// Each name is another tool, and no provider takes any of them as it is.
for (const name of ['a.b', 'a/b', `x.${'y'.repeat(100)}`])
  server.registerTool(name, { annotations: readOnly }, () => text(`I am ${name}`))

server.registerTool('grow', { annotations: readOnly }, () => {
  for (const name of ['grown', 'grown_more'])
    server.registerTool(name, { annotations: readOnly }, () => text(`I am ${name}`))
  return text('There are more tools now.')
})

server.registerTool('shrink', { annotations: readOnly }, () => {
  later.remove()
  return text('There are fewer tools now.')
})
const later = server.registerTool('going', { annotations: readOnly }, () => text('still here'))

await server.connect(new StdioServerTransport())
