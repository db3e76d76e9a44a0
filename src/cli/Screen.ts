import { FlowingText } from './FlowingText.ts'
import { type Paint, paintFor, printable, wantsColour } from './terminalText.ts'

type Stream = { write(text: string | Uint8Array): unknown; isTTY?: boolean; columns?: number }

/**
 * The two outputs of a command. `text` is the answer and goes to stdout as it arrives; a `line` is a whole line on
 * stdout; a `note` is a whole line on stderr. Both may be the same terminal or stream, where a note must not break a sentence.
 */
export class Screen {
  readonly isTerminal: boolean
  readonly paint: Paint
  readonly notePaint: Paint
  readonly #out: Stream
  readonly #err: Stream
  readonly #flow: FlowingText
  readonly #thoughts: FlowingText
  #isMidLine = false
  /** True after a whole line: an answer that continues below it needs no extra line break. */
  #isAfterLine = false

  constructor(out: Stream, err: Stream, env: NodeJS.ProcessEnv) {
    this.#out = out
    this.#err = err
    this.isTerminal = out.isTTY === true
    this.paint = paintFor(wantsColour(out, env))
    this.notePaint = paintFor(wantsColour(err, env))
    const width = () => out.columns || 0
    this.#flow = new FlowingText(width, this.paint)
    this.#thoughts = new FlowingText(width, paintFor(false))
  }

  /** True if stderr is a terminal, so that a person sees the notes. */
  get hasReader(): boolean {
    return this.#err.isTTY === true
  }

  /** Writes a piece of the model's answer: on a terminal in colours, and broken between words. */
  text(piece: string): void {
    this.#show(piece, (text) => (this.isTerminal ? this.#flow.push(printable(text)) : text))
  }

  /** Writes a piece of the model's thinking. */
  thought(piece: string): void {
    this.#show(piece, (text) => this.paint.dim(this.#thoughts.push(printable(text))))
  }

  #show(piece: string, shownAs: (text: string) => string): void {
    const text = this.#isAfterLine ? piece.replace(/^\n/, '') : piece
    if (text === '') return
    this.#out.write(shownAs(text))
    this.#isMidLine = !text.endsWith('\n')
    this.#isAfterLine = false
  }

  json(value: object): void {
    // JSON does not escape these characters, and a terminal would execute them.
    const safe = JSON.stringify(value).replace(/[\u007f-\u009f\p{Bidi_Control}]/gu, escaped)
    this.#out.write(`${safe}\n`)
  }

  /** Writes to a file or a pipe. */
  bytes(bytes: Uint8Array): void {
    this.#out.write(bytes)
  }

  line(line = ''): void {
    this.endLine()
    this.#out.write(`${line}\n`)
    this.#isAfterLine = true
  }

  note(line: string): void {
    if ((this.isTerminal && this.hasReader) || this.#out === this.#err) {
      this.endLine()
      this.#isAfterLine = true
    }
    this.#err.write(`${line}\n`)
  }

  /** The width of a line. */
  get columns(): number {
    // A terminal that does not know its width says 0.
    return this.#out.columns || this.#err.columns || 120
  }

  /** The beginning of a line: as much as fits on the screen after a small mark. */
  clip(line: string): string {
    const room = this.columns - 6
    return line.length > room ? `${line.slice(0, room - 1)}…` : line
  }

  endLine(): void {
    if (!this.#isMidLine) return
    this.#out.write(`${this.paint.dim(this.#thoughts.flush())}${this.#flow.flush()}\n`)
    this.#thoughts.startLine()
    this.#flow.startLine()
    this.#isMidLine = false
    this.#isAfterLine = true
  }
}

const escaped = (sign: string): string => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`
