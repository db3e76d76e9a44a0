import {
  goesBackAsItCame,
  interleavedBlocks,
  pauseTurn,
  refusal,
  signedHabits,
  unknownEverything,
  wholeInput,
} from '../hostile/anthropicHabits.ts'
import { anthropic } from '../hostile/anthropicWire.ts'
import { callHabits, expectCalls } from '../hostile/callHabits.ts'
import { callChunk, chatEvents, openai } from '../hostile/chatWire.ts'
import { cutAfterText } from '../hostile/cutHabits.ts'
import { errorBody, errorFirst, errorMid, failures } from '../hostile/failures.ts'
import { expectTheLoop, framings, resetMidText, turn, withoutBlankLine } from '../hostile/framings.ts'
import { reasoningContent, thinkingParts } from '../hostile/thinkingHabits.ts'
import {
  callsRunWhatever,
  cutArguments,
  diesInCall,
  toolWordWithoutCall,
  unknownTool,
  unknownWord,
} from '../hostile/turnHabits.ts'
import { expectCounts, usageHabits } from '../hostile/usageHabits.ts'
import type { Wire } from '../hostile/wire.ts'

/** A habit of a server. `run` plays it to statewire over a socket, and throws where what came of it is not right. */
export type Habit = {
  habit: string
  scenario: string
  run: () => Promise<void>
  /** What statewire does, where there is no right and wrong. */
  does?: string
}

/** Those of a list whose name begins so; none would prove nothing. */
const named = <T>(list: readonly T[], nameOf: (each: T) => string, ...names: string[]): T[] =>
  names.flatMap((name) => {
    const found = list.filter((each) => nameOf(each).split(':')[0] === name)
    if (found.length === 0) throw new Error(`There is no scenario named ${name}.`)
    return found
  })

const inTurn = async <T>(list: readonly T[], run: (each: T) => Promise<void>): Promise<void> => {
  for (const each of list) await run(each)
}

const calls = (habit: string, scenario: string): Habit => ({
  habit,
  scenario,
  run: () =>
    inTurn(
      named(callHabits, ({ promise }) => promise, scenario),
      (each) => {
        const chunks = each.pieces.map((pieces) => callChunk(...pieces))
        return expectCalls(openai, chatEvents(chunks, 'tool_calls'), each)
      },
    ),
})

const framed = (habit: string, scenario: string, ...names: string[]): Habit => ({
  habit,
  scenario,
  run: () =>
    inTurn(
      named(framings, ([name]) => name, ...names),
      ([, frame]) => expectTheLoop(openai, { body: frame(openai.events(turn)) }),
    ),
})

const counted = (habit: string, scenario: string, ...names: string[]): Habit => ({
  habit,
  scenario,
  run: () =>
    inTurn(
      named(usageHabits, ([name]) => name, ...names),
      ([, events]) => expectCounts(openai, events),
    ),
})

/** Every way this wire has to report an error, as the first event and after text. */
const errorsOn = (wire: Wire) => async () => {
  const reported = failures.filter(([each]) => each === wire).flatMap(([, each]) => each)
  await inTurn(reported, (failure) => errorFirst(wire, failure))
  await inTurn(reported, (failure) => errorMid(wire, failure))
}

export const chatHabits: readonly Habit[] = [
  calls('two calls, both `index: 0`, different ids', 'idx0_reuse'),
  calls('no `index`', 'no_index'),
  calls('no `id`', 'no_id'),
  calls('`id: ""` on two calls', 'empty_id'),
  calls('`id: null` first, the real id later', 'late_id'),
  calls('name after the first piece of arguments', 'late_name'),
  calls('the same id for two calls', 'dup_id'),
  calls('full name in every delta', 'name_every_delta'),
  calls('`arguments` an object', 'args_object'),
  calls('`arguments: null` or `""` for a tool without any', 'args_none'),
  {
    habit: '`finish_reason: "stop"` with a call',
    scenario: 'stop_with_call',
    run: () => callsRunWhatever(openai, 'stop'),
  },
  {
    habit: '`"tool_calls"` without a call',
    scenario: 'tool_word_without_call',
    run: () => toolWordWithoutCall(openai),
  },
  {
    habit: '`"length"` after a complete call',
    scenario: 'length_with_whole_call',
    run: () => callsRunWhatever(openai, 'length'),
    does: 'runs it',
  },
  {
    habit: 'cut arguments, `"tool_calls"`',
    scenario: 'cut_args_tool_calls',
    run: () => cutArguments(openai, 'tool_calls'),
  },
  {
    habit: 'cut arguments, `"length"`',
    scenario: 'cut_args_length',
    run: () => cutArguments(openai, 'length'),
  },
  { habit: 'end of the stream inside arguments', scenario: 'eof_in_args', run: () => diesInCall(openai) },
  {
    habit: 'end of the stream after text, no finish reason',
    scenario: 'eof_after_text',
    run: () => cutAfterText(openai),
  },
  { habit: 'connection reset in the middle of text', scenario: 'reset', run: () => resetMidText(openai) },
  { habit: '`{error}` chunk, first or in the middle', scenario: 'error_chunk', run: errorsOn(openai) },
  counted('usage chunk with `choices: null` or none', 'no_choices', 'choices_null', 'choices_missing'),
  counted('usage on every chunk', 'usage_every_chunk', 'every_chunk'),
  counted('no `[DONE]`', 'no_done', 'no_done'),
  {
    habit: 'last event without its blank line',
    scenario: 'no_blank_line',
    run: () => withoutBlankLine(openai),
  },
  framed(
    'CRLF, comments, `data:` without a space, UTF-8 byte by byte',
    'odd_framing',
    'crlf',
    'comments',
    'no_space',
    'utf8_torn',
  ),
  framed('event with empty data', 'empty_data', 'empty_data'),
  { habit: '`content` an array with thinking parts', scenario: 'content_parts', run: thinkingParts },
  {
    habit: '`reasoning_content`',
    scenario: 'reasoning_content',
    run: () => reasoningContent('openai:m'),
  },
  {
    habit: 'HTTP 200 with a JSON body `{error}`',
    scenario: 'error_body',
    run: () => inTurn(['application/json', 'text/event-stream'], (type) => errorBody(openai, type)),
  },
  { habit: 'unknown tool name', scenario: 'unknown_tool', run: () => unknownTool(openai) },
]

const signed = (...names: string[]) =>
  inTurn(
    named(signedHabits, ([name]) => name, ...names),
    ([, events, blocks]) => goesBackAsItCame(events, blocks),
  )

export const anthropicHabits: readonly Habit[] = [
  {
    habit: 'two blocks open at once, deltas in turns',
    scenario: 'interleaved_blocks',
    run: interleavedBlocks,
  },
  { habit: 'whole `input` in the block start, no deltas', scenario: 'whole_input', run: wholeInput },
  {
    habit: 'signed thinking, also with empty text, goes back',
    scenario: 'signature',
    run: () => signed('signature', 'omitted_thinking'),
  },
  {
    habit: '`redacted_thinking` goes back',
    scenario: 'redacted_thinking',
    run: () => signed('redacted_thinking'),
  },
  {
    habit: 'cut input, `max_tokens`',
    scenario: 'cut_input_max_tokens',
    run: () => cutArguments(anthropic, 'max_tokens'),
  },
  {
    habit: 'cut input, `tool_use`',
    scenario: 'cut_input_tool_use',
    run: () => cutArguments(anthropic, 'tool_use'),
  },
  { habit: 'end of the stream inside a call', scenario: 'eof_in_tool', run: () => diesInCall(anthropic) },
  { habit: 'end of the stream inside text', scenario: 'eof_in_text', run: () => cutAfterText(anthropic) },
  {
    habit: '`overloaded_error`, first or in the middle',
    scenario: 'overloaded',
    run: errorsOn(anthropic),
  },
  { habit: '`pause_turn`', scenario: 'pause_turn', run: pauseTurn },
  { habit: '`refusal`', scenario: 'refusal', run: refusal },
  { habit: 'unknown event, block or delta', scenario: 'unknown', run: unknownEverything },
  { habit: 'unknown stop reason', scenario: 'unknown_stop_reason', run: () => unknownWord(anthropic) },
]
