/** The reference server for files: tools that change something wait for a person, tools that only read do not. */
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { connected, filesystem } from './servers.ts'

const folderWith = (name: string, content: string) => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'statewire-files-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, name), content)
  return folder
}

test('reads without asking, writes when a person has approved it, also in another process', async () => {
  const folder = folderWith('notes.txt', 'buy milk')
  const path = join(folder, 'copy.txt')
  const script = [
    [{ toolCall: { name: 'read_text_file', arguments: { path: join(folder, 'notes.txt') } } }],
    [{ toolCall: { id: 'w', name: 'write_file', arguments: { path, content: 'buy milk' } } }],
  ]
  const first = await connected(filesystem(folder))
  const { pendingApproval, messages } = await new Agent(scriptedModel(script), { tools: [first] }).send('go')
  expect(messages.flatMap(toolResultsOf)).toMatchObject([{ result: 'buy milk' }])
  expect(pendingApproval?.calls).toMatchObject([{ id: 'w', name: 'write_file', kind: 'approval' }])
  expect(existsSync(path)).toBe(false)
  await first.close()

  const second = await connected(filesystem(folder))
  const stored = JSON.parse(JSON.stringify(pendingApproval))
  const done = await new Agent(scriptedModel(['Copied.']), { tools: [second] }).resume(stored, { w: true })
  expect(done.output).toContain('Copied.')
  expect(readFileSync(path, 'utf8')).toBe('buy milk')
})

test('a refusal of the server is an error result for the model', async () => {
  const remote = await connected(filesystem(folderWith('a.txt', 'a')))
  const script = [[{ toolCall: { name: 'read_text_file', arguments: { path: '/etc/passwd' } } }], 'Sorry.']
  const { messages } = await new Agent(scriptedModel(script), { tools: [remote] }).send('go')
  expect(messages.flatMap(toolResultsOf)).toMatchObject([
    { isError: true, result: expect.stringContaining('Access denied') },
  ])
})

test('an image is a part of the result', async () => {
  const png =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const folder = folderWith('dot.png', '')
  writeFileSync(join(folder, 'dot.png'), Buffer.from(png, 'base64'))
  const remote = await connected(filesystem(folder))
  const call = { toolCall: { name: 'read_media_file', arguments: { path: join(folder, 'dot.png') } } }
  const { messages } = await new Agent(scriptedModel([[call], 'A dot.']), { tools: [remote] }).send('go')
  // Once: not as structured content, too.
  expect(messages.flatMap(toolResultsOf)).toMatchObject([
    { result: '', parts: [{ type: 'data', mimeType: 'image/png', data: png }] },
  ])
})
