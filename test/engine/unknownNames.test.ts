/** A misspelled name is refused where it is written: of an event, of a field of a decision, of a tool, of a field of a profile. */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createActor, toPromise } from 'xstate'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { chatProfile, defineProvider, openaiChat } from '../../providers/index.ts'
import { listModels, uploadFile } from '../../providers/registry.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { openRuns, sqlite } from '../../src/durable/index.ts'
import { dataPart } from '../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { sentenceOf } from './sentenceOf.ts'

const paths: unknown[] = []
const erase = tool({
  name: 'erase',
  description: 'Erases a file',
  input: { jsonSchema: { type: 'object', properties: { path: { type: 'string' } } } },
  needsApproval: true,
  execute: (args) => {
    paths.push(args)
    return 'gone'
  },
})
const asks: ScriptTurn[] = [[{ toolCall: { id: 'c', name: 'erase', arguments: { path: '/' } } }], 'Done.']
const asking = (options: object = {}) => new Agent(scriptedModel(asks), { tools: [erase], ...options })

describe('the name of an event', () => {
  const run = new Agent(scriptedModel(['Hi'])).start('Hello')
  const on = (type: never) => run.on(type, () => {})

  it.each([
    ['tool.aproval', 'A run emits no event "tool.aproval". Did you mean tool.approval?'],
    ['chunks', 'A run emits no event "chunks". Did you mean chunk?'],
    ['approval', 'A run emits no event "approval". Did you mean tool.approval?'],
  ])('%s', async (type, sentence) => {
    expect(await sentenceOf(on, type)).toBe(sentence)
  })

  it('may be every one that a run emits', async () => {
    const seen = new Set<string>()
    const read = tool({ name: 'erase', description: 'Reads', execute: () => 'text' })
    const watched = new Agent(scriptedModel(asks), { tools: [read] }).start('Read it')
    watched.on('*', ({ type }) => seen.add(type))
    await watched.result
    for (const type of seen) expect(await sentenceOf(on, type)).toBe('was accepted')
    expect(seen).toContain('tool.result')
  })
})

describe('a field of a decision', () => {
  const edited = { path: '/tmp/draft.txt' }

  it.each([
    ['args', 'Write arguments.'],
    ['argumnts', 'Did you mean arguments?'],
  ])('of an approval: %s, and nothing runs', async (name, advice) => {
    const run = asking().start('Erase it')
    await run.result
    const approve = (options: never) => run.approve('c', options)
    expect(await sentenceOf(approve, { [name]: edited })).toBe(
      `The options of approve cannot have "${name}". ${advice}`,
    )
    expect(run.pending).toHaveLength(1)
    expect(paths).toEqual([])
    run.abort()
    await run.result.catch(() => {})
  })

  it('of a resumed run, and nothing runs', async () => {
    const agent = asking()
    const { pendingApproval } = await agent.send('Erase it')
    const resume = (...given: never[]) => Reflect.apply(agent.resume, agent, [pendingApproval, ...given])
    expect(await sentenceOf(resume, { c: { approve: true, args: edited } })).toBe(
      'The decision on "c" cannot have "args". Write arguments.',
    )
    expect(paths).toEqual([])
  })

  it('of onApproval: the call is rejected with the reason', async () => {
    const onApproval = () => ({ approve: true, args: edited })
    const { messages } = await asking({ onApproval }).send('Erase it')
    expect(messages[2]?.parts).toMatchObject([
      {
        isError: true,
        result: expect.stringContaining('The approval cannot have \\"args\\". Write arguments.'),
      },
    ])
    expect(paths).toEqual([])
  })

  it('of a rejection and of an answer', async () => {
    const ask = tool({ name: 'ask', description: 'Asks a person' })
    const run = new Agent(scriptedModel([[{ toolCall: { id: 'q', name: 'ask' } }], 'Done.']), {
      tools: [ask],
    }).start('Ask')
    await run.result
    const reject = (about: never) => run.reject('q', 'no', about)
    const answer = (options: never) => run.answer('q', 'yes', options)
    expect(await sentenceOf(reject, { qestion: '1' })).toContain('Did you mean question?')
    expect(await sentenceOf(answer, { error: true })).toContain('Did you mean isError?')
    run.answer('q', 'yes', { isError: false })
    expect((await run.result).output).toBe('Done.')
  })

  it('of a command to a stored run, and nothing runs', async () => {
    const path = join(await mkdtemp(join(tmpdir(), 'statewire-')), 'runs.db')
    const runs = await openRuns({ store: sqlite(path), agents: { asking: asking() } })
    await (await runs.start('asking', 'Erase it', { id: 'r' })).result
    const send = (command: never) => runs.send('r', command)
    expect(await sentenceOf(send, { type: 'tool.approve', callId: 'c', args: edited })).toBe(
      'The command tool.approve cannot have "args". Write arguments.',
    )
    expect(await sentenceOf(send, { type: 'abort', resaon: 'late' })).toBe(
      'The command abort cannot have "resaon". Did you mean reason?',
    )
    expect(paths).toEqual([])
    await runs.close()
  })
})

describe('a field of a profile', () => {
  const agentOf = (model: string, profile: object) => new Agent(model, { apiKey: 'k', profile })

  it.each([
    ['openai', 'reasoningSumary', 'Did you mean reasoningSummary?'],
    ['groq', 'splitThinkTag', 'Did you mean splitThinkTags?'],
    ['anthropic', 'maxOutputs', 'Did you mean maxOutput?'],
    ['ollama:qwen3:8b', 'numctx', 'Did you mean numCtx?'],
    ['google', 'splitThinkTags', 'There are: appendsChanges, attachments, '],
    ['bedrock:amazon.nova-pro-v1:0', 'richResult', 'Did you mean richResults?'],
    ['mistral', 'effort', 'Did you mean efforts?'],
    ['cohere', 'nativeShema', 'Did you mean nativeSchema?'],
  ])('of %s: %s', async (model, name, advice) => {
    expect(await sentenceOf(agentOf, model, { [name]: true })).toContain(
      `profile cannot have "${name}". ${advice}`,
    )
  })

  it('of a fallback is refused with its first send', async () => {
    const fallback: object[] = [{ model: 'groq', apiKey: 'k', profile: { splitThinkTag: true } }]
    const send = () => asking(Object({ fallback })).send('Hello')
    expect(await sentenceOf(send)).toContain('Did you mean splitThinkTags?')
  })

  it('may be of either protocol of a provider that has two', () => {
    const profile = { reasoningSummary: false, splitThinkTags: true }
    for (const model of ['openai:gpt-6-luna', 'openai:gpt-4.1', 'openai-chat', 'azure:team-7'])
      expect(agentOf(model, profile).model.profile).toMatchObject(profile)
  })

  it('may be any of a protocol that says nothing about its fields', () => {
    const { profileFields: _, ...protocol } = openaiChat
    const make = defineProvider({
      name: 'acme',
      protocol,
      baseUrl: 'http://127.0.0.1:1',
      defaultModel: 'acme-1',
      profile: () => ({ ...chatProfile, speaksLatin: false }),
    })
    const profile: object = { speaksLatin: true }
    expect(make.chatModel(undefined, { profile }).profile).toMatchObject(profile)
  })

  it('may be prices that rise with the size of a request', () => {
    const prices = { input: 1, output: 2, above: { tokens: 200_000, input: 2, output: 4 } }
    expect(agentOf('openai', { prices }).model.profile.prices).toEqual(prices)
  })
})

describe('an option inside of another one', () => {
  const agentOf = (options: object) => new Agent(scriptedModel(['Hi']), options)
  const consolidate = () => ({ role: 'model', parts: [] })

  it.each([
    [{ toolExecution: { concurrency: 2, parallel: true } }, 'toolExecution cannot have "parallel".'],
    [{ toolChoice: { tool: 'erase', name: 'erase' } }, 'toolChoice cannot have "name".'],
    [
      { accumulator: { consolidat: consolidate } },
      'accumulator cannot have "consolidat". Did you mean consolidate?',
    ],
    [{ toolExecutor: { executeBach: () => [] } }, 'Did you mean executeBatch?'],
    [
      { apiKey: { accessKeyId: 'a', secretAccessKey: 'b', sesionToken: 'c' } },
      'apiKey cannot have "sesionToken". Did you mean sessionToken?',
    ],
  ])('%j', async (options, sentence) => {
    expect(await sentenceOf(agentOf, options)).toContain(sentence)
  })

  it('may be the own field of credentials that an SDK gives', () => {
    const apiKey = { accessKeyId: 'a', secretAccessKey: 'b', expiration: new Date(), accountId: '1' }
    expect(agentOf({ apiKey }).model.provider).toBe('scripted')
  })

  it('of the settings of a step', async () => {
    const prepareStep = () => ({ settings: Object({ temprature: 1 }) })
    await expect(agentOf({ prepareStep }).send('Hello')).rejects.toThrow(
      'The settings that prepareStep returns cannot have "temprature". Did you mean temperature?',
    )
  })

  it('of the settings of an actor', async () => {
    const input = { prompt: 'Hello', settings: Object({ temprature: 1 }) }
    const actor = createActor(agentOf({}).machine, { input })
    const output = toPromise(actor)
    actor.start()
    expect(await output).toMatchObject({
      status: 'failed',
      error: { message: 'settings cannot have "temprature". Did you mean temperature?' },
    })
  })
})

describe('an option of a call', () => {
  const agent = new Agent('openai', { apiKey: 'k', baseUrl: 'http://127.0.0.1:1', retry: { maxRetries: 0 } })
  const file = dataPart('text/plain', new Uint8Array([1]))

  it.each<[string, (options: object) => unknown]>([
    ['listModels', (options) => listModels('openai', options)],
    ['uploadFile', (options) => uploadFile('openai', file, options)],
    ['media', (options) => agent.generateMedia('A hat', options)],
    ['media', (options) => agent.generateMediaStream('A hat', options).next()],
  ])('of %s', async (what, call) => {
    expect(await sentenceOf(call, { zzzzzzzz: 1 })).toContain(
      `The options of ${what} cannot have "zzzzzzzz".`,
    )
  })

  it('of what retries a request', async () => {
    const list = (options: object) => listModels('openai', options)
    expect(await sentenceOf(list, { retry: { maxRetry: 1 } })).toBe(
      'retry cannot have "maxRetry". Did you mean maxRetries?',
    )
  })

  it('of a stored run or chat', async () => {
    const path = join(await mkdtemp(join(tmpdir(), 'statewire-')), 'runs.db')
    const runs = await openRuns({ store: sqlite(path), agents: { hello: new Agent(scriptedModel(['Hi'])) } })
    const run = await runs.start('hello', 'Hello', { id: 'r' })
    await run.result
    const chat = await runs.chat('c')
    const calls: [string, (options: object) => unknown][] = [
      ['stream', (options) => run.stream(options).next()],
      ['fork', (options) => runs.fork('r', options)],
      ['chat', (options) => runs.chat('d', options)],
      ['a turn', (options) => chat.send('Hello', options)],
      ['fork', (options) => chat.fork(options)],
    ]
    for (const [what, call] of calls)
      expect(await sentenceOf(call, { zzzzzzzz: 1 })).toContain(
        `The options of ${what} cannot have "zzzzzzzz".`,
      )
    await runs.close()
  })
})

describe('a limit for a tool that does not exist', () => {
  const search = tool({ name: 'search', description: 'Searches', execute: () => 'found' })
  const limits = { perTool: { serch: 1 } }
  const sentence = 'limits.perTool has "serch", which is not a tool of this run. Did you mean search?'

  it('fails the run before the model is asked', async () => {
    const model = scriptedModel(['Hi'])
    const agent = new Agent(model, { tools: [search] })
    expect(await sentenceOf(() => agent.send('Hello', { limits }))).toBe(sentence)
    expect(await sentenceOf(() => new Agent(model, { tools: [search], limits }).send('Hello'))).toBe(sentence)
    expect(model.requests).toHaveLength(0)
  })

  it('is a warning where a source may bring the tool', async () => {
    const agent = new Agent(scriptedModel(['Hi']), { tools: [{ tools: [search] }], limits })
    const { warnings, output } = await agent.send('Hello')
    expect(output).toBe('Hi')
    expect(warnings).toMatchObject([{ setting: 'limits', message: sentence }])
  })

  it('is a warning where the agent gets its tools with its sends', async () => {
    const agent = new Agent(scriptedModel(['Hi', 'Hi']), { limits: { perTool: { search: 1 } } })
    expect((await agent.send('Hello')).warnings).toMatchObject([{ setting: 'limits' }])
    expect((await agent.send('Hello', { tools: [search] })).warnings).toBeUndefined()
  })

  it('may be for a tool of the agent that the run does not get', async () => {
    const agent = new Agent(scriptedModel(['Hi']), { tools: [search], limits: { perTool: { search: 1 } } })
    expect((await agent.send('Hello', { tools: [{ ...search, name: 'find' }] })).output).toBe('Hi')
  })

  it('does not fail a phase that has no tools', async () => {
    const agent = new Agent(scriptedModel(Array(9).fill('Hi')), {
      tools: [search],
      limits: { perTool: { search: 1 } },
      orchestrator: reflectionOrchestrator(),
    })
    expect((await agent.send('Hello')).warnings).toBeUndefined()
  })
})
