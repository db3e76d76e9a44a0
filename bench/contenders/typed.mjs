import { z } from 'zod'

const makeSchema = () =>
  z.object({
    city: z.string(),
    days: z.int().min(1),
    sky: z.enum(['clear', 'cloudy', 'rain']),
    words: z.array(z.string()),
  })

/** The schema of a typed answer: one for all requests, or a new one for each, as inline schemas are. */
export const typedBy = (way = 'one') => {
  const one = makeSchema()
  const oneAsJson = z.toJSONSchema(one)
  return {
    schema: way === 'inline' ? makeSchema : () => one,
    jsonSchemaOf: (schema) => (schema === one ? oneAsJson : z.toJSONSchema(schema)),
    resultOf: (value) => ({ text: value.words.join(''), held: value }),
  }
}
