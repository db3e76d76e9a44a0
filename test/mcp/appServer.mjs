// A server whose tools declare apps. Its argument is a file in which it notes each app that is read.
import { appendFileSync } from 'node:fs'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'

const server = new McpServer({ name: 'apps', version: '1' })
const annotations = { readOnlyHint: true }
const text = (value) => ({ type: 'text', text: value })
const page = (uri) => ({ uri, mimeType: 'text/html;profile=mcp-app', text: `<p>${uri}</p>` })
const tool = (name, _meta, result) => server.registerTool(name, { annotations, _meta }, () => result)

for (const name of ['chart', 'draft']) {
  const uri = `ui://${name}`
  server.registerResource(name, uri, {}, () => {
    appendFileSync(process.argv[2], `${uri}\n`)
    return { contents: [page(uri)] }
  })
}
tool('chart', { ui: { resourceUri: 'ui://chart' } }, { content: [text('A chart.')] })
tool('draft', { 'ui/resourceUri': 'ui://draft' }, { content: [text('A draft.')] })
tool('missing', { ui: { resourceUri: 'ui://missing' } }, { content: [text('No app.')] })
tool('broken', { ui: { resourceUri: 'ui://chart' } }, { content: [text('It failed.')], isError: true })
tool(
  'embedded',
  { ui: { resourceUri: 'ui://chart' } },
  { content: [{ type: 'resource', resource: page('ui://chart') }] },
)
tool('foreign', { ui: { resourceUri: 'file:///etc/passwd' } }, { content: [text('A file.')] })

await server.connect(new StdioServerTransport())
