import { describeThrown, OrchestrationError, OutputValidationError } from '../messages/errors.ts'
import { isJsonObject } from '../messages/json.ts'
import type { ChatResult, SendResult } from '../messages/result.ts'
import type { CompiledSchema } from '../tools/schema.ts'
import { wireSchemaOf } from '../tools/typedAnswer.ts'
import type { ChunkStream } from './ChunkStream.ts'
import { PartialJson } from './PartialJson.ts'

/** A value that is still being written: any part may be missing. */
export type DeepPartial<T> = T extends readonly (infer Item)[]
  ? DeepPartial<Item>[]
  : T extends object
    ? { [Key in keyof T]?: DeepPartial<T[Key]> }
    : T

/** Shows a run to one reader, chunk by chunk. */
export type ChunkReader = {
  chunk(chunk: ChatResult): void
  /** The run is paused; the chunk shows what it waits for. */
  wait(chunk: ChatResult): void
  complete(result: SendResult): void
  fail(error: Error): void
}

/** Turns the chunks of a typed run into the value as it grows; the last one is the validated value. */
export const partialValues = <T>(
  stream: ChunkStream<ChatResult<DeepPartial<T>>>,
  schema: CompiledSchema<T>,
): ChunkReader => {
  const { isWrapped } = wireSchemaOf(schema)
  let json = new PartialJson()
  const known = (): DeepPartial<T> => {
    const { value } = json
    const inner = isWrapped && isJsonObject(value) ? value.value : value
    return inner as DeepPartial<T>
  }
  let last: ChatResult | undefined
  return {
    chunk(chunk) {
      // What was shown before a restart does not count.
      if (chunk.metadata.restart === true) json = new PartialJson()
      if (chunk.finishReason !== 'unspecified') {
        last = chunk
        return
      }
      json.push(chunk.output)
      stream.push({ ...chunk, output: known() })
    },
    complete(result) {
      validatedOutput(result, schema).then(
        (output) => {
          stream.push({ ...(last ?? result), output: output as DeepPartial<T> })
          stream.finish()
        },
        (error) => stream.fail(error),
      )
    },
    wait(chunk) {
      stream.push({ ...chunk, output: known() })
      stream.finish()
    },
    fail: (error) => stream.fail(error),
  }
}

/** The value of a typed run. The machine has checked it already: this is where the schema's own transforms happen. */
export const validatedOutput = async <T>(partial: ChatResult, schema: CompiledSchema<T>): Promise<T> => {
  const rawOutput = partial.output
  if (partial.pendingApproval) {
    const names = partial.pendingApproval.calls.map(({ name }) => name).join(', ')
    throw new OrchestrationError(
      `The typed answer waits for ${names}: resume it with error.partial.pendingApproval and the schema, or give the agent an onApproval callback.`,
      { partial },
    )
  }
  const validation = await schema.validate(parse(rawOutput, partial))
  if (validation.ok) return validation.value
  throw new OutputValidationError(`The answer does not fit the schema: ${validation.problem}`, {
    partial,
    rawOutput,
  })
}

const parse = (rawOutput: string, partial: ChatResult): unknown => {
  try {
    return JSON.parse(rawOutput)
  } catch (cause) {
    const problem = `The answer is not JSON: ${describeThrown(cause)}`
    throw new OutputValidationError(problem, { cause, partial, rawOutput })
  }
}
