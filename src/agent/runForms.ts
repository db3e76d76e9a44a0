import type { CompiledSchema } from '../tools/schema.ts'
import { type DeepPartial, partialValues, validatedOutput } from './partialValues.ts'
import type { RunSetup } from './runSetup.ts'

/** A run that answers with text. */
export const plainRun: Pick<RunSetup<string, string>, 'readerOf' | 'finish'> = {
  readerOf: (stream) => ({
    chunk: (chunk) => stream.push(chunk),
    wait: (chunk) => {
      stream.push(chunk)
      stream.finish()
    },
    complete: () => stream.finish(),
    fail: (error) => stream.fail(error),
  }),
  finish: (result) => result,
}

/** A run that answers with a value of a schema. */
export const typedRun = <T>(
  schema: CompiledSchema<T>,
): Pick<RunSetup<T, DeepPartial<T>>, 'readerOf' | 'finish'> => ({
  readerOf: (stream) => partialValues(stream, schema),
  finish: async (result) => ({ ...result, output: await validatedOutput(result, schema) }),
})
