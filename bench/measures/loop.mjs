import { main, repetitionsOn } from './mainWire.mjs'

const contenders = (wire, peers) => ['floor', 'reader', 'statewire', ...(wire === main ? peers : [])]

const goalOn = (wire, ratio) => (wire === main ? { ratio, to: 'reader' } : undefined)

/** Rounds of four calls of an instant tool, then a short answer: processor time of a round. */
export const tools = ({ wireNames, sizes, peers }) =>
  wireNames.map((wire) => ({
    id: `tools/${wire}`,
    title: `a tool round of 4 calls, ${wire}`,
    contenders: contenders(wire, peers),
    job: { task: 'stream', wire, chunks: 20, calls: 4, per: 'round', ...sizes.rounds },
    repetitions: repetitionsOn(wire),
    values: { cpu: { unit: 'µs', goal: goalOn(wire, 2.2) } },
  }))

/** Short requests one after the other: the processor time of each. */
export const request = ({ wireNames, sizes, peers }) =>
  wireNames.map((wire) => ({
    id: `request/${wire}`,
    title: `a short request, ${wire}`,
    contenders: contenders(wire, peers),
    job: { task: 'stream', wire, chunks: 5, per: 'request', ...sizes.requests },
    repetitions: repetitionsOn(wire),
    values: { cpu: { unit: 'µs', goal: goalOn(wire, 1.8) } },
  }))

/** A loop of many steps whose history grows to a megabyte: processor time of a step, of which the bytes are the larger part. */
export const longLoop = ({ sizes, peers }) => [
  {
    id: 'longLoop',
    title: `a step of a loop of ${sizes.longLoop.rounds} with ${sizes.longLoop.resultSize} characters each`,
    contenders: ['floor', 'reader', 'statewire', ...peers],
    job: { task: 'stream', chunks: 5, calls: 1, per: 'round', ...sizes.longLoop },
    repetitions: 3,
    values: { cpu: { unit: 'µs' } },
  },
]

/** The same without a policy and with one that allows everything: what its questions cost. */
export const policy = ({ sizes }) => [
  {
    id: 'policy/request',
    title: 'a short request, with a policy',
    contenders: ['reader', 'statewire', 'statewire-policy'],
    job: { task: 'stream', chunks: 5, per: 'request', ...sizes.requests },
    values: { cpu: { unit: 'µs' } },
  },
  {
    id: 'policy/tools',
    title: 'a tool round of 4 calls, with a policy',
    contenders: ['reader', 'statewire', 'statewire-policy'],
    job: { task: 'stream', chunks: 20, calls: 4, per: 'round', ...sizes.rounds },
    values: { cpu: { unit: 'µs' } },
  },
]

const schemas = { one: 'one schema for all', inline: 'its schema made for each' }

/** Short requests for a typed answer. An inline schema is made for each request, by the reader as well: that is zod's part. */
export const typed = ({ sizes }) =>
  Object.entries(schemas).map(([schema, name]) => ({
    id: `typed/${schema}/${main}`,
    title: `a typed request, ${name}, ${main}`,
    contenders: ['floor', 'reader', 'statewire-send-for'],
    job: {
      task: 'stream',
      wire: main,
      chunks: 5,
      per: 'request',
      answer: 'json',
      schema,
      ...sizes.requests,
    },
    values: { cpu: { unit: 'µs' } },
  }))
