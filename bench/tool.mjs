/** The one tool of all contenders: instant, so that only the loop around it costs. */
export const weather = {
  name: 'get_weather',
  description: 'The weather of the next days in a city',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'number' } },
    required: ['city', 'days'],
    additionalProperties: false,
  },
  execute: ({ city, days }) => ({ city, days, celsius: 21, ...report }),
}

let report = {}

/** Makes results about this long, for conversations that grow; short ones otherwise. */
export const setResultSize = (size = 0) => {
  report = size > 0 ? { report: 'It is "fine" today. '.repeat(size / 20) } : {}
}

export const prompt = 'What will the weather be like?'
