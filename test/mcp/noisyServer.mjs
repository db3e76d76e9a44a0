// Announces changes all the time, and counts how often it is asked for its list.
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'

const server = new Server({ name: 'noisy', version: '1' }, { capabilities: { tools: { listChanged: true } } })
let lists = 0
server.setRequestHandler(ListToolsRequestSchema, () => {
  lists += 1
  return { tools: [{ name: 'count', inputSchema: { type: 'object' } }] }
})
server.setRequestHandler(CallToolRequestSchema, () => ({ content: [{ type: 'text', text: String(lists) }] }))
await server.connect(new StdioServerTransport())
setInterval(() => server.sendToolListChanged(), 5)
