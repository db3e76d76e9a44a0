import { Agent } from '../../agent/Agent.ts'
import { compactionOf } from '../../messages/compaction.ts'
import { AbortedError } from '../../messages/errors.ts'
import { type Part, textPart, toolCallsOf } from '../../messages/messages.ts'
import { AnswerView } from '../AnswerView.ts'
import { Approvals } from '../Approvals.ts'
import { splitFile } from '../agentFile.ts'
import { attachmentsOf } from '../attachments.ts'
import { type ChosenAgent, chooseAgent } from '../chooseAgent.ts'
import { type Invocation, textOption } from '../command.ts'
import { reportOf } from '../describeError.ts'
import { exit, UsageError } from '../exit.ts'
import { columns } from '../help.ts'
import { onInterrupt } from '../interrupt.ts'
import { type Lines, pipedLines, terminalLines } from '../Lines.ts'
import { keepConversation, lastConversation } from '../lastConversation.ts'
import { historyFile, lineHistory } from '../lineHistory.ts'
import { nearest } from '../nearest.ts'
import { showError } from '../outcome.ts'
import { callLine } from '../toolLine.ts'
import { compactionLine } from '../usageText.ts'
import { MemoryTalk } from './MemoryTalk.ts'
import { StoredTalk } from './StoredTalk.ts'
import type { MakeAgent, Piece, Talk } from './talk.ts'

const slashCommands: [string, string][] = [
  ['/tools on|off', 'with or without the built-in tools'],
  ['/model [name]', 'which model answers, or another one from now on'],
  ['/clear', 'forget the conversation'],
  ['/help', 'this text'],
  ['/exit', 'leave (or Ctrl-D)'],
]

/** A person, or the lines of a pipe, and an agent that answers. */
export class Conversation {
  readonly #invocation: Invocation
  readonly #lines: Lines
  readonly #isAtTerminal: boolean
  readonly #approvals: Approvals
  readonly #file: string | undefined
  #chosen: ChosenAgent
  /** What goes with the next prompt. */
  #attachments: Part[]
  #talk: Talk | undefined
  #abort = new AbortController()
  /** The person left instead of deciding. */
  #isLeft = false
  #failures = 0

  static async open(invocation: Invocation): Promise<Conversation> {
    const { file, words } = splitFile(invocation.words)
    if (words.length > 0) throw new UsageError('chat takes no prompt: type it when it asks, or use run.')
    const attachments = await attachmentsOf(invocation)
    const chosen = await chooseAgent(invocation, file)
    if (file !== undefined && !(chosen.make() instanceof Agent)) throw new UsageError(otherCopy(file))
    return new Conversation(invocation, chosen, { file, attachments })
  }

  constructor(
    invocation: Invocation,
    chosen: ChosenAgent,
    { file, attachments = [] }: { file?: string | undefined; attachments?: Part[] } = {},
  ) {
    this.#file = file
    this.#attachments = attachments
    const { stdin, screen, values } = invocation
    this.#invocation = invocation
    this.#isAtTerminal = stdin.isTTY === true && screen.isTerminal
    this.#lines = this.#isAtTerminal
      ? terminalLines(stdin, process.stdout, lineHistory(historyFile(invocation.env)))
      : pipedLines(stdin)
    this.#chosen = chosen
    this.#approvals = new Approvals({
      isApproved: values.approve === true,
      lines: this.#isAtTerminal ? this.#lines : undefined,
      screen,
      leave: () => {
        this.#isLeft = true
        this.#abort.abort()
      },
    })
  }

  /** Runs until its end. If it started with a prompt, it continues after the answer only at a terminal. */
  async hold(first?: string): Promise<number> {
    const { screen } = this.#invocation
    this.#note(this.#chosen.said)
    const talk = await openTalk(this.#invocation, this.#makeAgent, this.#approvals, this.#note)
    this.#talk = talk
    if (first !== undefined) await this.#begin(first, talk)
    if (this.#isAtTerminal) this.#note('/help lists the commands, Ctrl-D leaves.')
    await this.#show((signal) => talk.unfinished(signal))
    while (first === undefined || this.#isAtTerminal) {
      if (this.#isLeft && talk.isKept) break
      this.#isLeft = false
      const line = await this.#lines.next(screen.paint.bold('> '))
      if (line === undefined || /^\s*\/(?:exit|quit)\s*$/.test(line)) break
      if (line.trim() === '') continue
      if (line.trim().startsWith('/')) await this.#obey(line.trim(), talk)
      else await this.#ask(line, talk)
    }
    if (this.#isLeft) this.#note('Nothing was decided: --continue asks again.')
    return this.#isAtTerminal || this.#failures === 0 ? exit.complete : exit.failed
  }

  async close(): Promise<void> {
    this.#lines.close()
    await this.#talk?.close()
    await this.#chosen.close()
  }

  readonly #makeAgent: MakeAgent = () => this.#chosen.make()

  readonly #note = (line: string): void => {
    const { screen, values } = this.#invocation
    if (values.quiet !== true) screen.note(screen.notePaint.dim(line))
  }

  async #begin(prompt: string, talk: Talk): Promise<void> {
    const { screen } = this.#invocation
    screen.line(`\n${screen.paint.bold('>')} ${prompt}`)
    await this.#ask(prompt, talk)
  }

  async #ask(line: string, talk: Talk): Promise<void> {
    const prompt = this.#attachments.length > 0 ? [textPart(line), ...this.#attachments] : line
    this.#attachments = []
    await this.#show((signal) => talk.answer(prompt, signal))
  }

  async #show(answer: (signal: AbortSignal) => MaybePieces | Promise<MaybePieces>): Promise<void> {
    const { screen } = this.#invocation
    const view = new AnswerView(screen)
    this.#abort = new AbortController()
    const release = onInterrupt(() => this.#abort.abort())
    try {
      for await (const piece of (await answer(this.#abort.signal)) ?? []) {
        view.show(piece)
        for (const call of piece.messages.flatMap(toolCallsOf)) {
          this.#note(`  · ${screen.clip(callLine(call))}`)
        }
        for (const compaction of piece.messages.map(compactionOf)) {
          if (compaction) this.#note(`  · ${compactionLine(compaction)}`)
        }
      }
      screen.endLine()
    } catch (error) {
      screen.endLine()
      if (error instanceof AbortedError) screen.note(screen.notePaint.yellow('aborted'))
      else {
        this.#failures++
        showError(reportOf(error), screen)
      }
    } finally {
      release()
    }
  }

  async #obey(line: string, talk: Talk): Promise<void> {
    const { screen, values } = this.#invocation
    const [name = '', argument] = line.split(/\s+/)
    if (this.#file !== undefined && argument !== undefined && /^\/(?:tools|model)$/.test(name))
      return this.#note(`${this.#file} has its own model and tools.`)
    switch (name) {
      case '/help':
        return screen.line(columns(slashCommands, screen.paint).join('\n'))
      case '/clear':
        return this.#note(await talk.clear())
      case '/tools':
        if (argument === 'on' || argument === 'off') values['no-tools'] = argument === 'off'
        await talk.change()
        return this.#note(`Tools are ${values['no-tools'] === true ? 'off' : 'on'}.`)
      case '/model':
        if (argument !== undefined) await this.#switchTo(argument, talk)
        return this.#note(this.#chosen.said)
      default: {
        const meant = nearest(
          name,
          slashCommands.map(([each]) => each.split(' ')[0] ?? ''),
        )
        return screen.note(
          `There is no ${name}.${meant ? ` Did you mean ${meant}?` : ' /help lists the commands.'}`,
        )
      }
    }
  }

  async #switchTo(model: string, talk: Talk): Promise<void> {
    const { screen, values } = this.#invocation
    const before = { ...values }
    Object.assign(values, { model, 'base-url': undefined })
    try {
      const chosen = await chooseAgent(this.#invocation, undefined)
      await this.#chosen.close()
      this.#chosen = { ...chosen, said: chosen.said.replace('(--model)', '(as you chose)') }
      await talk.change()
    } catch (error) {
      Object.assign(values, before)
      showError(reportOf(error), screen)
    }
  }
}

const otherCopy = (file: string): string =>
  `${file} imports another copy of statewire than this command: write it as an ES module, and start npx statewire in its project.`

type MaybePieces = AsyncIterable<Piece> | undefined

const openTalk = async (
  invocation: Invocation,
  makeAgent: MakeAgent,
  approvals: Approvals,
  note: (line: string) => void,
): Promise<Talk> => {
  const file = textOption(invocation, 'db')
  const chat = textOption(invocation, 'chat')
  const isContinued = invocation.values.continue === true
  if (file !== undefined)
    return StoredTalk.open({
      file,
      isContinued,
      makeAgent,
      approvals,
      note,
      ...(chat !== undefined && { chat }),
    })
  if (chat !== undefined) throw new UsageError('--chat needs the file of the conversations: --db chats.db')
  const { env } = invocation
  const history = isContinued ? lastConversation(env) : []
  return new MemoryTalk(makeAgent, approvals, history, (messages) => keepConversation(env, messages))
}
