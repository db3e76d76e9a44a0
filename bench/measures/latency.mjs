export const abort = ({ sizes }) => [
  {
    id: 'abort',
    title: 'abort to closed socket',
    contenders: ['floor', 'statewire'],
    job: { task: 'abort', times: sizes.aborts },
    values: { abort: { unit: 'ms', goal: { most: 5 } } },
  },
]

export const firstToken = ({ sizes }) => [
  {
    id: 'firstToken',
    title: 'the first text',
    contenders: ['statewire'],
    job: { task: 'firstToken', chunks: 5, times: sizes.firstTokens },
    values: {
      later: { name: 'later than at the reader', unit: 'ms', goal: { most: 0.4 } },
      laterThanFloor: { name: 'later than at the floor', unit: 'ms' },
    },
  },
]
