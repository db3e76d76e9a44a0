/** The answer that every wire streams: token-sized pieces, as models cut their text. */
const words =
  ' The| state| chart| reads| every| chunk| once|,| then| it| moves| on|.| No| delta| is| lost|,| none| comes| twice|.|\n\n| When| a| tool| call| ends| the| round| begins| again|:| "ask|",| call|,| answer|.| Ropes| stay| ropes| until| the| whole| text| is| wanted| —| and| that| is| only| at| the| very| end| of| it|.| Small| steps|,| plain| names|,| short| files|.\n'.split(
    '|',
  )

/** The text starts over every thousand pieces, so that an answer of any length is made of one block. */
export const blockSize = 1000

export const piece = (index) => words[(index % blockSize) % words.length]

export const textOf = (chunks) => {
  let text = ''
  for (let index = 0; index < chunks; index += 1) text += piece(index)
  return text
}

/** The words as a value: every piece is one more item of its list, so that a typed answer has as many chunks. */
export const json = {
  opening: '{"city":"Oslo","days":3,"sky":"clear","words":[""',
  piece: (index) => `,${JSON.stringify(piece(index))}`,
  closing: ']}',
}

const cities = ['Oslo', 'Rome', 'Lima', 'Cairo', 'Quito', 'Seoul', 'Dakar', 'Turin']

/** The calls of one round; ids are unique over the rounds. */
export const callsOf = (round, count) =>
  Array.from({ length: count }, (_, index) => ({
    id: `call_${String(round).padStart(4, '0')}${String(index).padStart(4, '0')}bEnChMaRkBeNcH`,
    name: 'get_weather',
    arguments: JSON.stringify({ city: cities[(round + index) % cities.length], days: index + 1 }),
  }))

/** Arguments arrive in pieces, too. */
export const fragments = (text) => text.match(/.{1,6}/gs)

export const usage = (chunks) => ({ input: 42, output: chunks, total: chunks + 42 })

/** Every answer of a conversation has an id of its own. */
export const idOf = (prefix, round) => `${prefix}${String(round).padStart(5, '0')}`
