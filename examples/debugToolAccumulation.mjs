// Debugging: how a decoder puts tool calls together from their pieces. Paste the events of a stream you do not trust.
import { isDeepStrictEqual } from 'node:util'
import { Agent } from 'statewire'
import { openaiChat } from 'statewire/providers'

// One event of the OpenAI chat wire with a piece of one call; the first piece of a call has its id and its name.
const piece = (index, text, id, name) => ({
  tool_calls: [{ index, ...(id && { id }), function: { ...(name && { name }), arguments: text } }],
})
const event = (delta, finish_reason = null) =>
  JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })
const end = [event({}, 'tool_calls'), '[DONE]']

const streams = {
  'two calls, their pieces interleaved': {
    events: [
      event(piece(0, '', 'a', 'get_weather')),
      event(piece(1, '', 'b', 'get_time')),
      event(piece(0, '{"city":')),
      event(piece(1, '{"city":"Ro')),
      event(piece(0, '"Oslo"}')),
      event(piece(1, 'me"}')),
      ...end,
    ],
    expected: [{ city: 'Oslo' }, { city: 'Rome' }],
  },
  'a server that gives every call the index 0': {
    events: [
      event(piece(0, '{"city":"Oslo"}', 'a', 'get_weather')),
      event(piece(0, '{"city":', 'b', 'get_weather')),
      event(piece(0, '"Rome"}')),
      ...end,
    ],
    expected: [{ city: 'Oslo' }, { city: 'Rome' }],
  },
  'a tool without arguments': {
    events: [event(piece(0, 'null', 'a', 'ping')), ...end],
    expected: [{}],
  },
  'a stream that is cut inside the arguments': {
    events: [event(piece(0, '{"city":"Os', 'a', 'get_weather'))],
    expected: [],
  },
}

const { provider, model, profile } = new Agent('openai:gpt-6-luna').model

for (const [title, { events, expected }] of Object.entries(streams)) {
  console.log(`\n${title}`)
  const decoder = openaiChat.decoder({ provider, model, profile })
  const calls = []
  const take = (deltas) => {
    for (const { type, ...rest } of deltas) {
      console.log(`  ${type.padEnd(10)}`, JSON.stringify(rest))
      // A `toolDelta` is only for showing. A call is there once it is whole, and runs once the stream has ended well.
      if (type === 'toolCall') calls.push(rest.call.arguments)
    }
  }
  for (const data of events) take(decoder.push({ data }))
  take(decoder.end())
  const isRight = isDeepStrictEqual(calls, expected)
  console.log(isRight ? 'ok  ' : 'FAIL', 'the arguments are', JSON.stringify(calls))
  if (!isRight) process.exitCode = 1
}
