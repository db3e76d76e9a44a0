/** Apps that a server's tools only declare reach the page with their results, and not the model. */

import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { expect, onTestFinished, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { connectMcp, mcpTools } from '../../src/mcp/index.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import type { Tool, ToolSource } from '../../src/tools/tool.ts'
import { ownServer } from './servers.ts'

type Connect = (server: ReturnType<typeof ownServer>) => Promise<readonly (Tool | ToolSource)[]>

const ways: Record<string, Connect> = {
  connectMcp: async (server) => {
    const remote = await connectMcp(server)
    onTestFinished(() => remote.close())
    return [remote]
  },
  'a client of version 1': async (server) => {
    const client = new Client1({ name: 'test', version: '1' })
    onTestFinished(() => client.close())
    await client.connect(new Stdio1(server))
    return await mcpTools(client)
  },
  'a client of version 2': async (server) => {
    const client = new Client({ name: 'test', version: '1' })
    onTestFinished(() => client.close())
    await client.connect(new StdioClientTransport(server))
    return await mcpTools(client)
  },
}

const appOf = (uri: string) => ({
  type: 'data',
  name: uri,
  mimeType: 'text/html;profile=mcp-app',
  data: Buffer.from(`<p>${uri}</p>`).toString('base64'),
})

test.each(Object.entries(ways))('apps of a server: %s', async (_, connect) => {
  const log = join(mkdtempSync(join(tmpdir(), 'apps-')), 'read')
  writeFileSync(log, '')
  const tools = await connect(ownServer('appServer.mjs', log))
  const names = ['chart', 'chart', 'draft', 'missing', 'broken', 'embedded', 'foreign']
  const model = scriptedModel([names.map((name) => ({ toolCall: { name } })), 'Done.'])
  const { messages } = await new Agent(model, { tools }).send('Show them')
  const results = messages.flatMap(toolResultsOf)
  expect(results.map(({ result, parts = [], isError = false }) => [result, parts, isError])).toEqual([
    ['A chart.', [appOf('ui://chart')], false],
    ['A chart.', [appOf('ui://chart')], false],
    ['A draft.', [appOf('ui://draft')], false],
    ['No app.', [], false],
    [expect.stringContaining('It failed.'), [], true],
    ['', [appOf('ui://chart')], false],
    ['A file.', [], false],
  ])
  // Each of them is read once.
  expect(readFileSync(log, 'utf8')).toBe('ui://chart\nui://draft\n')
})
