import { describeThrown } from '../messages/errors.ts'
import { isJsonObject, type JsonObject } from '../messages/json.ts'
import { compileSchema } from '../tools/schema.ts'
import { type Invocation, textOption } from './command.ts'
import { UsageError } from './exit.ts'
import { fileOfOption } from './fileOfOption.ts'

/** The shape of the answer: `--schema` is a file with a JSON Schema, or the JSON itself. */
export const answerSchema = async (
  invocation: Invocation,
): Promise<{ jsonSchema: JsonObject } | undefined> => {
  const wanted = textOption(invocation, 'schema')
  if (wanted === undefined) return undefined
  const isJson = wanted.trimStart().startsWith('{')
  // A decoder leaves out the mark that editors on Windows put at the beginning.
  const text = isJson ? wanted : new TextDecoder().decode(await fileOfOption('schema', wanted))
  try {
    const jsonSchema: unknown = JSON.parse(text)
    if (!isJsonObject(jsonSchema)) throw new Error('a JSON Schema is an object.')
    compileSchema({ jsonSchema }, 'The schema')
    return { jsonSchema }
  } catch (error) {
    throw new UsageError(`--schema${isJson ? '' : ` ${wanted}`} cannot be used: ${describeThrown(error)}`)
  }
}
