/** The tools of a real server, over each of its transports: what it lists, what it answers, and how calls end. */
import { describe, expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import { type ToolResultPart, toolResultsOf } from '../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { connected, wires } from './servers.ts'

const call = (name: string, args: JsonObject = {}): ScriptTurn => [
  { toolCall: { id: 'c', name, arguments: args } },
]

describe.each(Object.entries(wires))('over %s', (_, serve) => {
  test('lists, calls, reports, cancels and closes', async () => {
    const remote = await connected({ ...(await serve()), onSkipped: () => {} })
    expect(remote.instructions).toContain('Everything Server')
    const names = remote.tools.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['echo', 'get-sum', 'get-tiny-image']))
    // A tool that can only be run as a task.
    expect(names).toContain('simulate-research-query')

    const answered = async (name: string, args: JsonObject = {}): Promise<ToolResultPart> => {
      const model = scriptedModel([call(name, args), 'done'])
      const { messages } = await new Agent(model, { tools: [remote] }).send('go')
      const [result] = messages.flatMap(toolResultsOf)
      if (!result) throw new Error(`${name} has no result.`)
      return result
    }

    expect(await answered('echo', { message: 'hi' })).toMatchObject({ result: 'Echo: hi' })
    expect(await answered('get-tiny-image')).toMatchObject({
      result: expect.stringContaining("Here's the image"),
      parts: [{ type: 'data', mimeType: 'image/png', data: expect.stringMatching(/^iVBOR/) }],
    })
    // The text that repeats the structured content is enough.
    const { result: weather } = await answered('get-structured-content', { location: 'Chicago' })
    expect(JSON.parse(weather)).toMatchObject({ temperature: expect.any(Number) })
    expect(await answered('get-resource-reference', { resourceType: 'Blob', resourceId: 1 })).toMatchObject({
      parts: [{ type: 'data', mimeType: 'text/plain', name: 'demo://resource/dynamic/blob/1' }],
    })
    expect((await answered('get-resource-links', { count: 1 })).result).toContain('demo://resource/dynamic/')
    // Arguments are checked before they are sent.
    expect(await answered('get-sum', { a: 'x' })).toMatchObject({
      isError: true,
      result: expect.stringContaining('do not fit the schema'),
    })
    // What only the server can know is its error.
    expect(await answered('get-resource-reference', { resourceType: 'Text', resourceId: -1 })).toMatchObject({
      isError: true,
      result: expect.stringMatching(/"error":".*[Ii]nvalid resourceId/),
    })

    const progress: unknown[] = []
    const long = scriptedModel([call('trigger-long-running-operation', { duration: 60, steps: 300 })])
    const run = new Agent(long, { tools: [remote] }).start('go')
    // It does not end by itself: what comes together with a result is not reported any more.
    run.on('tool.progress', ({ value }) => {
      progress.push(value)
      run.abort('enough')
    })
    await expect(run.result).rejects.toMatchObject({ name: 'AbortedError' })
    expect(progress[0]).toEqual({ progress: 1, total: 300 })

    const endless = scriptedModel([call('trigger-long-running-operation', { duration: 60, steps: 1 })])
    const aborted = new Agent(endless, { tools: [remote] }).start('go')
    aborted.on('tool.call', () => setTimeout(() => aborted.abort('enough'), 100))
    await expect(aborted.result).rejects.toMatchObject({ name: 'AbortedError' })
    // The connection is as good as before.
    expect(await answered('echo', { message: 'still' })).toMatchObject({ result: 'Echo: still' })

    await remote.close()
    expect(await answered('echo', { message: 'gone' })).toMatchObject({
      isError: true,
      result: expect.stringContaining('was closed'),
    })
  })
})
