import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import type { ToolResultPart } from '../../src/messages/messages.ts'
import { parsedJson } from '../../src/transport/textFraming.ts'
import { responsesForms } from '../wire/attachmentForms.ts'
import { resultContent } from '../wire/attachments.ts'
import { stringAt } from '../wire/json.ts'
import type { Target } from '../wire/protocol.ts'
import type { OpenAIResponsesProfile } from './profile.ts'

// Tools that OpenAI defines and the client runs: each has its own items for a call and for its result. A tool of the agent
// with such an entry as its `wire` gets the call under the name below, with these fields of the item as its arguments.

/** The item types of one such tool. */
type ClientTool = {
  name: (item: JsonObject) => string
  fields: readonly string[]
  output: (callId: string, result: Result) => JsonObject
}

type Result = { text: string; media: JsonObject[]; isError: boolean }

const clientTools: ReadonlyMap<string, ClientTool> = new Map<string, ClientTool>([
  [
    'apply_patch_call',
    {
      name: () => 'apply_patch',
      fields: ['operation'],
      output: (call_id, { text, isError }) => ({
        type: 'apply_patch_call_output',
        call_id,
        status: isError ? 'failed' : 'completed',
        output: text,
      }),
    },
  ],
  [
    'shell_call',
    {
      name: () => 'shell',
      fields: ['action'],
      output: (call_id, result) => ({ type: 'shell_call_output', call_id, output: shellOutput(result) }),
    },
  ],
  [
    'local_shell_call',
    {
      name: () => 'local_shell',
      fields: ['action'],
      output: (id, { text }) => ({ type: 'local_shell_call_output', id, output: text }),
    },
  ],
  [
    'computer_call',
    {
      name: () => 'computer',
      fields: ['action', 'actions', 'pending_safety_checks'],
      output: (call_id, { text, media }) => ({
        type: 'computer_call_output',
        call_id,
        output: { type: 'computer_screenshot', image_url: stringAt(media[0], 'image_url') ?? text },
      }),
    },
  ],
  [
    'mcp_approval_request',
    {
      name: (item) => stringAt(item, 'server_label') ?? '',
      fields: ['name', 'arguments'],
      // A tool that returns false, fails, or was rejected does not approve.
      output: (approval_request_id, { text, isError }) => ({
        type: 'mcp_approval_response',
        approval_request_id,
        approve: !isError && text !== 'false',
      }),
    },
  ],
])

/** A list of outputs as the API has it, which a tool may return itself; else its text is what the command printed. */
const shellOutput = ({ text, isError }: Result): JsonValue => {
  const own = parsedJson(text)
  if (Array.isArray(own) && own.every((each) => isJsonObject(each) && 'outcome' in each)) return own
  const outcome = { type: 'exit', exit_code: isError ? 1 : 0 }
  return [{ stdout: isError ? '' : text, stderr: isError ? text : '', outcome }]
}

export const isClientCall = (type: string): boolean => clientTools.has(type)

/** The call of an item that the client runs. */
export const clientCallOf = (item: JsonObject): { name: string; arguments: JsonObject } | undefined => {
  const known = clientTools.get(stringAt(item, 'type') ?? '')
  if (!known) return undefined
  const fields = known.fields.filter((field) => item[field] !== undefined && item[field] !== null)
  return {
    name: known.name(item),
    arguments: Object.fromEntries(fields.map((field) => [field, argumentAt(item, field)])),
  }
}

/** MCP arguments come as text. */
const argumentAt = (item: JsonObject, field: string): JsonValue => {
  const value = item[field] ?? null
  const read = field === 'arguments' && typeof value === 'string' ? parsedJson(value) : undefined
  return isJsonObject(read) ? read : value
}

/** The result of a call as the item that its call asks for. */
export const clientOutput = (
  type: string,
  callId: string,
  part: ToolResultPart,
  target: Target<OpenAIResponsesProfile>,
): JsonObject | undefined => {
  const { text, media } = resultContent(part, target, responsesForms(target.profile))
  return clientTools.get(type)?.output(callId, { text, media, isError: part.isError === true })
}

/** True for an entry of `tools` whose calls the client must run. An MCP server asks only where it must be approved. */
export const isClientEntry = (entry: JsonObject): boolean => {
  const type = stringAt(entry, 'type') ?? ''
  if (type === 'shell') return !stringAt(environmentOf(entry), 'type')?.startsWith('container')
  if (type === 'mcp') return (entry.require_approval ?? 'always') === 'always'
  return clientEntries.has(type)
}

const clientEntries: ReadonlySet<string> = new Set([
  'apply_patch',
  'local_shell',
  'computer',
  'computer_use_preview',
])

const environmentOf = ({ environment }: JsonObject): JsonObject | undefined =>
  isJsonObject(environment) ? environment : undefined
