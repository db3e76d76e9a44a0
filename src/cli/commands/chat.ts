import { Agent } from '../../agent/Agent.ts'
import { Chat } from '../../agent/Chat.ts'
import { AbortedError } from '../../messages/errors.ts'
import { toolCallsOf } from '../../messages/messages.ts'
import { AnswerView } from '../AnswerView.ts'
import { Approvals } from '../Approvals.ts'
import { agentOptions } from '../agentOptions.ts'
import { type ChosenModel, chooseModel } from '../chooseModel.ts'
import { type Command, type Invocation, modelOptions } from '../command.ts'
import { reportOf } from '../describeError.ts'
import { exit } from '../exit.ts'
import { columns } from '../help.ts'
import { onInterrupt } from '../interrupt.ts'
import { type Lines, pipedLines, terminalLines } from '../Lines.ts'
import { nearest } from '../nearest.ts'
import { showError } from '../outcome.ts'
import { callLine } from '../toolLine.ts'

export const chat: Command = {
  name: 'chat',
  summary: 'Talks with a model, and keeps the conversation',
  operands: '',
  options: modelOptions,
  details: [
    'Type a line, get an answer; /help lists the commands. Ctrl-C ends a running',
    'answer, at the prompt it leaves. Lines from a pipe are turns, too.',
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

class Conversation {
  readonly #invocation: Invocation
  readonly #lines: Lines
  readonly #isAtTerminal: boolean
  #chosen: ChosenModel
  #chat: Chat
  #abort = new AbortController()
  #failures = 0

  static async open(invocation: Invocation): Promise<Conversation> {
    return new Conversation(invocation, await chooseModel(invocation))
  }

  constructor(invocation: Invocation, chosen: ChosenModel) {
    const { stdin, screen } = invocation
    this.#invocation = invocation
    this.#isAtTerminal = stdin.isTTY === true && screen.isTerminal
    this.#lines = this.#isAtTerminal ? terminalLines(stdin, process.stdout) : pipedLines(stdin)
    this.#chosen = chosen
    this.#chat = new Chat(this.#agent())
  }

  async hold(): Promise<number> {
    const { screen } = this.#invocation
    screen.note(screen.notePaint.dim(`Model: ${this.#chosen.said}`))
    if (this.#isAtTerminal) screen.note(screen.notePaint.dim('/help lists the commands, Ctrl-D leaves.'))
    for (;;) {
      const line = await this.#lines.next(screen.paint.bold('> '))
      if (line === undefined || /^\s*\/(?:exit|quit)\s*$/.test(line)) break
      if (line.trim() === '') continue
      if (line.trim().startsWith('/')) await this.#obey(line.trim())
      else await this.#answer(line)
    }
    return this.#isAtTerminal || this.#failures === 0 ? exit.complete : exit.failed
  }

  async close(): Promise<void> {
    this.#lines.close()
    await this.#chosen.close()
  }

  #agent(): Agent {
    const { screen, values } = this.#invocation
    const approvals = new Approvals({
      isApproved: values.approve === true,
      lines: this.#isAtTerminal ? this.#lines : undefined,
      screen,
      leave: () => this.#abort.abort(),
    })
    return new Agent(this.#chosen.model, {
      ...agentOptions(this.#invocation, this.#chosen),
      onApproval: (call) => approvals.decide(call),
    })
  }

  async #answer(prompt: string): Promise<void> {
    const { screen } = this.#invocation
    const view = new AnswerView(screen)
    this.#abort = new AbortController()
    const release = onInterrupt(() => this.#abort.abort())
    try {
      for await (const chunk of this.#chat.sendStream(prompt, { signal: this.#abort.signal })) {
        view.show(chunk)
        for (const call of chunk.messages.flatMap(toolCallsOf)) {
          screen.note(screen.notePaint.dim(`  · ${screen.clip(callLine(call))}`))
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

  async #obey(line: string): Promise<void> {
    const { screen, values } = this.#invocation
    const [name = '', argument] = line.split(/\s+/)
    switch (name) {
      case '/help':
        return screen.line(columns(slashCommands, screen.paint).join('\n'))
      case '/clear':
        this.#chat = new Chat(this.#agent())
        return screen.note(screen.notePaint.dim('The conversation is forgotten.'))
      case '/tools':
        if (argument === 'on' || argument === 'off') values['no-tools'] = argument === 'off'
        this.#renew()
        return screen.note(screen.notePaint.dim(`Tools are ${values['no-tools'] === true ? 'off' : 'on'}.`))
      case '/model':
        if (argument !== undefined) await this.#switchTo(argument)
        return screen.note(screen.notePaint.dim(`Model: ${this.#chosen.said}`))
      default: {
        const meant = nearest(
          name,
          slashCommands.map(([each]) => each.split(' ')[0] ?? ''),
        )
        return screen.note(
          `There is no ${name}.${meant ? ` Did you mean ${meant}?` : ' /help lists what there is.'}`,
        )
      }
    }
  }

  async #switchTo(model: string): Promise<void> {
    const { screen, values, env } = this.#invocation
    try {
      const chosen = await chooseModel({ env, values: { ...values, model, 'base-url': undefined } })
      await this.#chosen.close()
      this.#chosen = { ...chosen, said: chosen.said.replace('(--model)', '(as you say)') }
      this.#renew()
    } catch (error) {
      showError(reportOf(error), screen)
    }
  }

  /** The same conversation with another agent. */
  #renew(): void {
    this.#chat = new Chat(this.#agent(), { history: this.#chat.history })
  }
}
