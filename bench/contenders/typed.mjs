import { z } from 'zod'

const makeSchema = () =>
  z.object({
    city: z.string(),
    days: z.int().min(1),
    sky: z.enum(['clear', 'cloudy', 'rain']),
    words: z.array(z.string()),
  })

/** What a typed answer is asked with: one schema for all requests, or one made anew for each, as inline schemas are. */
export const typedBy = (way = 'one') => {
  const one = makeSchema()
  const oneAsJson = z.toJSONSchema(one)
  return {
    schema: way === 'anew' ? makeSchema : () => one,
    jsonSchemaOf: (schema) => (schema === one ? oneAsJson : z.toJSONSchema(schema)),
    resultOf: (value) => ({ text: value.words.join(''), held: value }),
  }
}
