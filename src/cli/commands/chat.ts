import { Agent } from '../../agent/Agent.ts'
import { compactionOf } from '../../messages/compaction.ts'
import { AbortedError } from '../../messages/errors.ts'
import { type Part, textPart, toolCallsOf } from '../../messages/messages.ts'
import { nearest } from '../../messages/optionNames.ts'
import { Approvals } from '../Approvals.ts'
import { type ChatBackend, type MakeAgent, MemoryBackend, type Piece } from '../chat/MemoryBackend.ts'
import { StoredBackend } from '../chat/StoredBackend.ts'
import { type ChosenAgent, chooseAgent } from '../chooseAgent.ts'
import { type Command, type Invocation, modelOptions, textOption } from '../command.ts'
import { historyFile, keepConversation, lastConversation, lineHistory } from '../history.ts'
import { type Lines, pipedLines, terminalLines } from '../Lines.ts'
import { splitFile } from '../moduleFile.ts'
import { exit, onInterrupt, reportOf, showError, UsageError } from '../outcome.ts'
import { AnswerView, callLine, compactionLine } from '../progress.ts'
import { attachmentsOf } from '../question.ts'
import { columns } from '../terminalText.ts'

export const chat: Command = {
  name: 'chat',
  summary: 'Talks with a model, and keeps the conversation',
  operands: '[file]',
  options: {
    ...modelOptions,
    db: { type: 'string', value: 'path', about: 'store the conversation in this file or database' },
    chat: { type: 'string', value: 'name', about: 'the chat of this name in the file, or a new one' },
    continue: { type: 'boolean', short: 'c', about: 'continue the last conversation' },
    quiet: { type: 'boolean', short: 'q', about: 'nothing on stderr but errors and questions' },
  },
  details: [
    'Type a line, get an answer; /help lists the commands. Ctrl-C ends a running',
    'answer, at the prompt it leaves. Lines from a pipe are turns, too. A file is one',
    'that exports an agent; its code runs. Attachments go with the first prompt.',
    '',
    'With --db a conversation outlives this command, however it ends: the next one',
    'continues an unfinished answer, and asks an open question again.',
  ],
  run: async (invocation) => {
    const conversation = await Conversation.open(invocation)
    try {
      return await conversation.hold()
    } finally {
      await conversation.close()
    }
  },
}

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
  /** The attachments of the next prompt. */
  #attachments: Part[]
  #backend: ChatBackend | undefined
  #abort = new AbortController()
  /** True if the person left instead of deciding. */
  #isLeft = false
  /** Lines that were typed while an answer streamed: each gets its turn. */
  #queued: string[] = []
  #failures = 0

  static async open(invocation: Invocation): Promise<Conversation> {
    const { file, words } = splitFile(invocation.words)
    const [first = ''] = words
    if (words.length === 1 && /\.[cm]?[jt]s$/.test(first)) throw new UsageError(`There is no file ${first}.`)
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

  /** Answers line after line, up to the last. After a first prompt it continues only at a terminal. */
  async hold(first?: string): Promise<number> {
    const { screen } = this.#invocation
    this.#note(this.#chosen.said)
    const backend = await openBackend(this.#invocation, this.#makeAgent, this.#approvals, this.#note)
    this.#backend = backend
    if (first !== undefined) await this.#begin(first, backend)
    if (this.#isAtTerminal) this.#note('/help lists the commands, Ctrl-D leaves.')
    await this.#show((signal) => backend.unfinished(signal))
    while (first === undefined || this.#isAtTerminal) {
      if (this.#isLeft && backend.isKept) break
      this.#isLeft = false
      const line = this.#nextQueued() ?? (await this.#lines.next(screen.paint.bold('> ')))
      if (line === undefined || /^\s*\/(?:exit|quit)\s*$/.test(line)) break
      if (line.trim() === '') continue
      if (line.trim().startsWith('/')) await this.#runSlashCommand(line.trim(), backend)
      else await this.#ask(line, backend)
    }
    if (this.#isLeft) this.#note('Nothing was decided: --continue asks again.')
    return this.#isAtTerminal || this.#failures === 0 ? exit.complete : exit.failed
  }

  #nextQueued(): string | undefined {
    const { screen } = this.#invocation
    const line = this.#queued.shift()
    if (line !== undefined) screen.line(`${screen.paint.bold('>')} ${line}`)
    return line
  }

  async close(): Promise<void> {
    this.#lines.close()
    await this.#backend?.close()
    await this.#chosen.close()
  }

  readonly #makeAgent: MakeAgent = () => this.#chosen.make()

  readonly #note = (line: string): void => {
    const { screen, values } = this.#invocation
    if (values.quiet !== true) screen.note(screen.notePaint.dim(line))
  }

  async #begin(prompt: string, backend: ChatBackend): Promise<void> {
    const { screen } = this.#invocation
    screen.line(`\n${screen.paint.bold('>')} ${prompt}`)
    await this.#ask(prompt, backend)
  }

  async #ask(line: string, backend: ChatBackend): Promise<void> {
    const prompt = this.#attachments.length > 0 ? [textPart(line), ...this.#attachments] : line
    this.#attachments = []
    await this.#show((signal) => backend.answer(prompt, signal))
  }

  async #show(answer: (signal: AbortSignal) => MaybePieces | Promise<MaybePieces>): Promise<void> {
    const { screen } = this.#invocation
    const view = new AnswerView(screen)
    this.#abort = new AbortController()
    const release = onInterrupt(() => this.#abort.abort())
    const unwatch = this.#lines.watch((line) => {
      if (line.trim() === '') return
      this.#queued.push(line)
      this.#note(`  · queued: ${screen.clip(line)}`)
    })
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
      if (error instanceof AbortedError) {
        screen.note(screen.notePaint.yellow('aborted'))
        // As in a page: what was asked behind an answer that is stopped is not asked.
        for (const line of this.#queued.splice(0)) this.#note(`  · not asked: ${screen.clip(line)}`)
      } else {
        this.#failures++
        showError(reportOf(error), screen)
      }
    } finally {
      unwatch()
      release()
    }
  }

  async #runSlashCommand(line: string, backend: ChatBackend): Promise<void> {
    const { screen, values } = this.#invocation
    const [name = '', argument] = line.split(/\s+/)
    if (this.#file !== undefined && argument !== undefined && /^\/(?:tools|model)$/.test(name))
      return this.#note(`${this.#file} has its own model and tools.`)
    switch (name) {
      case '/help':
        return screen.line(columns(slashCommands, screen.paint).join('\n'))
      case '/clear':
        return this.#note(await backend.clear())
      case '/tools':
        if (argument === 'on' || argument === 'off') values['no-tools'] = argument === 'off'
        await backend.change()
        return this.#note(`Tools are ${values['no-tools'] === true ? 'off' : 'on'}.`)
      case '/model':
        if (argument !== undefined) await this.#switchTo(argument, backend)
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

  async #switchTo(model: string, backend: ChatBackend): Promise<void> {
    const { screen, values } = this.#invocation
    const before = { ...values }
    Object.assign(values, { model, 'base-url': undefined })
    try {
      const chosen = await chooseAgent(this.#invocation, undefined)
      await this.#chosen.close()
      this.#chosen = { ...chosen, said: chosen.said.replace('(--model)', '(as you chose)') }
      await backend.change()
    } catch (error) {
      Object.assign(values, before)
      showError(reportOf(error), screen)
    }
  }
}

const otherCopy = (file: string): string =>
  `${file} imports another copy of statewire than this command: write it as an ES module, and start npx statewire in its project.`

type MaybePieces = AsyncIterable<Piece> | undefined

const openBackend = async (
  invocation: Invocation,
  makeAgent: MakeAgent,
  approvals: Approvals,
  note: (line: string) => void,
): Promise<ChatBackend> => {
  const db = textOption(invocation, 'db')
  const chat = textOption(invocation, 'chat')
  const isContinued = invocation.values.continue === true
  if (db !== undefined)
    return StoredBackend.open({
      db,
      isContinued,
      makeAgent,
      approvals,
      note,
      ...(chat !== undefined && { chat }),
    })
  if (chat !== undefined) throw new UsageError('--chat needs the file of the conversations: --db chats.db')
  const { env } = invocation
  const history = isContinued ? lastConversation(env) : []
  return new MemoryBackend(makeAgent, approvals, history, (messages) => keepConversation(env, messages))
}
