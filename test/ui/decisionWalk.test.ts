/**
 * Random walks of approvals: two pages of different protocols, one or two processes, sub-agents, stale pages, races. A
 * yes runs exactly what was shown, once; nothing else runs; a decision that was accepted takes effect.
 *
 * `PROOF=1` takes more walks; `PROOF_SEED` begins elsewhere.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import type { ModelRequest } from '../../src/model/chatModel.ts'
import { type ScriptStep, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { aguiHandler, uiMessageHandler } from '../../src/ui/index.ts'
import { opened, storeFile } from '../durable/storeFile.ts'

const { PROOF, PROOF_SEED = '1' } = process.env

type Handler = (request: Request) => Promise<Response>

/** A question as a page shows it. */
type Shown = { question: string; callId: string; args: JsonObject }
type Verdict = 'yes' | 'edited' | 'no'

/** A move: a page asks again or decides on one of the questions it has ever seen; `rival` decides at the same moment. */
type Move = { page: 0 | 1; ask: boolean; pick: number; verdict: Verdict; rival: Verdict | undefined }

const moves = fc.array(
  fc.record<Move>({
    page: fc.constantFrom(0, 1),
    ask: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
    pick: fc.nat(30),
    verdict: fc.constantFrom('yes', 'yes', 'edited', 'no'),
    rival: fc.constantFrom(undefined, undefined, 'yes', 'no'),
  }),
  { minLength: 3, maxLength: 12 },
)

class World {
  /** Every question that was ever shown, the newest last; stale pages still have the old ones. */
  readonly shown: Shown[] = []
  /** The verdict that was accepted, by question, with the arguments that it was given for. */
  readonly accepted = new Map<string, { verdict: Verdict; args: JsonObject }>()
  readonly ran: string[] = []
  /** Questions of answers that ended because something else was asked: their decisions may come too late. */
  readonly ended = new Set<string>()
  readonly story: string[] = []
  #calls = 0
  #handlers: [Handler, Handler] = [async () => new Response(), async () => new Response()]
  readonly isPage = (page: number) => page === 0 || !this.#isShared
  #isShared = false

  /** The calls of a turn: each erases a path of its own, under ids that the provider numbers. */
  #turn(names: readonly string[], turns: number) {
    return (request: ModelRequest): readonly ScriptStep[] => {
      const rounds = request.messages.filter(({ parts }) => parts.some(({ type }) => type === 'toolResult'))
      if (rounds.length >= turns) return [{ text: 'Done.' }]
      return names.map((name, index) => {
        const own = { path: `p${this.#calls++}` }
        const args = name === 'erase' ? own : { prompt: 'Go' }
        return { toolCall: { id: `call_${index}`, name, arguments: args } }
      })
    }
  }

  #agent(names: readonly string[], turns: number, isBoss = true): Agent {
    const answer = this.#turn(names, turns)
    const base = scriptedModel([])
    const erase = tool({
      name: 'erase',
      description: 'Erases',
      input: { jsonSchema: { type: 'object' } },
      needsApproval: true,
      execute: (args) => {
        this.ran.push(JSON.stringify(args))
        return 'erased'
      },
    })
    const below = isBoss
      ? ['left', 'right'].map((name) =>
          this.#agent(name === 'left' ? ['erase'] : ['erase', 'erase'], 2, false).asTool({
            name,
            description: name,
          }),
        )
      : []
    const stream: typeof base.stream = (request, sink) =>
      scriptedModel([answer(request)]).stream(request, sink)
    return new Agent({ ...base, stream }, { tools: [erase, ...below], toolExecution: 'parallel' })
  }

  async open(names: readonly string[], kind: 'memory' | 'one process' | 'two processes'): Promise<void> {
    const agent = this.#agent(names, 2)
    if (kind === 'memory') {
      const handler = uiMessageHandler(agent)
      this.#handlers = [handler, handler]
      return
    }
    this.#isShared = true
    const path = storeFile()
    const first = await opened(path, { agent })
    const second = kind === 'one process' ? first : await opened(path, { agent })
    this.#handlers = [uiMessageHandler(first), aguiHandler(second)]
  }

  async #post(page: number, body: object): Promise<{ status: number; text: string }> {
    const headers = { 'content-type': 'application/json' }
    const handler = this.#handlers[page === 0 ? 0 : 1]
    const request = new Request('http://statewire.test/chat', {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    const response = await handler(request)
    return { status: response.status, text: await response.text() }
  }

  async ask(page: number): Promise<void> {
    this.story.push(`${page} asks`)
    for (const { question } of this.shown) this.ended.add(question)
    const { text } = await this.#post(
      page,
      this.isPage(page)
        ? { id: 'chat', messages: [user] }
        : { threadId: 'chat', runId: 'run', messages: [{ id: 'u', role: 'user', content: 'Go' }] },
    )
    this.#look(page, text)
  }

  /** Decides on a question that was shown at some time. True if the decision was accepted. */
  async decide(page: number, { question, callId, args }: Shown, verdict: Verdict): Promise<boolean> {
    const approved = verdict !== 'no'
    const edited = { path: `${args.path} edited by ${page}` }
    const editedArgs = verdict === 'edited' ? edited : undefined
    const part = {
      type: 'tool-erase',
      toolCallId: callId,
      state: 'approval-responded',
      input: args,
      approval: { id: question, approved },
    }
    const resume = { interruptId: question, status: 'resolved', payload: { approved, editedArgs } }
    const { status, text } = await this.#post(
      page,
      this.isPage(page)
        ? {
            id: 'chat',
            messages: [user, { id: 'a', role: 'assistant', parts: [part] }],
            ...(editedArgs && { editedArgs: { [question]: editedArgs } }),
          }
        : { threadId: 'chat', runId: 'run', messages: [], resume: [resume] },
    )
    this.story.push(`${page} ${verdict} ${question} ${JSON.stringify(args)}: ${status}`)
    if (status !== 200) {
      expect(status, text).toBe(409)
      return false
    }
    expect(this.accepted.has(question), 'a question is answered twice').toBe(false)
    this.accepted.set(question, { verdict, args: editedArgs ?? args })
    this.#look(page, text)
    return true
  }

  /** Reads what a page shows: the questions at the end of an answer, each with the arguments that were shown last. */
  #look(page: number, text: string): void {
    const events = text
      .split('\n')
      .flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []))
    expect(events.map(({ type }) => type)).not.toContain('error')
    expect(events.map(({ type }) => type)).not.toContain('RUN_ERROR')
    for (const event of events) {
      if (event.type === 'tool-input-available') this.#inputs[page]?.set(event.toolCallId, event.input)
      if (event.type === 'TOOL_CALL_ARGS') this.#inputs[page]?.set(event.toolCallId, JSON.parse(event.delta))
    }
    const asked = this.isPage(page)
      ? events.filter(({ type, isAutomatic }) => type === 'tool-approval-request' && !isAutomatic)
      : events.flatMap(({ type, outcome }) => (type === 'RUN_FINISHED' ? (outcome?.interrupts ?? []) : []))
    for (const { approvalId, id, toolCallId } of asked) {
      const question: string = approvalId ?? id
      // A page that has not seen the call itself knows it from the other one.
      const args = [page, 1 - page].map((each) => this.#inputs[each]?.get(toolCallId)).find((each) => each)
      if (this.shown.some((each) => each.question === question)) continue
      if (!args) throw new Error(`${toolCallId} is asked about and was not shown`)
      this.shown.push({ question, callId: toolCallId, args })
    }
  }
  readonly #inputs = [new Map<string, JsonObject>(), new Map<string, JsonObject>()]

  /** Nothing ran without its yes, with other arguments, or twice. At the end, every yes has run, unless its answer was ended. */
  check(isEnd: boolean): void {
    const yes = [...this.accepted].filter(([, { verdict }]) => verdict !== 'no')
    const may = yes.map(([, { args }]) => JSON.stringify(args))
    expect(this.ran.filter((each) => !may.includes(each))).toEqual([])
    expect(new Set(this.ran).size).toBe(this.ran.length)
    if (!isEnd) return
    const must = yes
      .filter(([question]) => !this.ended.has(question))
      .map(([, { args }]) => JSON.stringify(args))
    expect(must.filter((each) => !this.ran.includes(each))).toEqual([])
  }
}

const user = { id: 'u', role: 'user', parts: [{ type: 'text', text: 'Go' }] }

const walk = async (kind: Parameters<World['open']>[1], names: readonly string[], path: readonly Move[]) => {
  const world = new World()
  await world.open(names, kind)
  try {
    await world.ask(0)
    for (const { page, ask, pick, verdict, rival } of path) {
      // Most decisions are on what was shown last, some on what a stale page still shows.
      const target = world.shown.at(-1 - (pick < 20 ? pick % 3 : pick)) ?? world.shown[0]
      if (ask || !target) await world.ask(page)
      else if (rival === undefined) await world.decide(page, target, verdict)
      else await Promise.all([world.decide(page, target, verdict), world.decide(1 - page, target, rival)])
      world.check(false)
    }
    // Someone answers everything that is left.
    for (let round = 0; round < 40; round += 1) {
      const open = world.shown.filter(
        ({ question }) => !world.accepted.has(question) && !world.ended.has(question),
      )
      if (open.length === 0) break
      for (const each of open) await world.decide(0, each, 'yes')
    }
    const left = world.shown.filter(
      ({ question }) => !world.accepted.has(question) && !world.ended.has(question),
    )
    expect(left, 'a question can never be answered').toEqual([])
    world.check(true)
  } catch (cause) {
    throw new Error(`${String(cause)}\n${world.story.join('\n')}\nran: ${world.ran.join(' ')}`, { cause })
  }
}

const teams = fc.constantFrom(['erase'], ['erase', 'erase'], ['left', 'right'], ['erase', 'left'], ['right'])

test.each<[Parameters<World['open']>[1], number]>([
  ['memory', 40],
  ['one process', 8],
  ['two processes', 8],
])('a yes runs exactly what was shown, once: %s', { timeout: 3_600_000 }, async (kind, count) => {
  await fc.assert(
    fc.asyncProperty(teams, moves, (names, path) => walk(kind, names, path)),
    { numRuns: PROOF === undefined ? count : 50 * count, seed: Number(PROOF_SEED) },
  )
})
