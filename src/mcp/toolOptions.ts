import type { JsonObject } from '../messages/json.ts'
import { amount, callable, flag, listOf, oneOf, type Rules, rule, text } from '../messages/optionRules.ts'
import { defaultToolTimeoutMs, type OnInterrupted } from '../tools/tool.ts'
import type { TimeLimits } from './CallTimer.ts'
import type { McpToolInfo } from './toolInfo.ts'

/**
 * How the tools of a server are offered; nothing is required.
 *
 * @example
 * const options: McpToolOptions = {
 *   prefix: 'files_',
 *   needsApproval: ({ name }, args) => name !== 'read_file' || String(args.path).includes('secret'),
 * }
 */
export type McpToolOptions = {
  /** Put before every name, to keep the tools of two servers apart: letters, digits, `_` and `-`. */
  prefix?: string
  /** Only these tools, by the names that the server gives them. */
  include?: readonly string[]
  /**
   * Whether a person must approve a call before it runs. By default all but those of tools that are marked as read-only,
   * and the server sets that mark itself: say `true` for one that you do not trust.
   */
  needsApproval?: boolean | ((tool: McpToolInfo, args: JsonObject) => boolean)
  /** How long a call may be silent; progress renews the time. Default: 5 minutes. */
  timeoutMs?: number
  /** How long a call may take in all, without the time that a person takes to answer. Default: 1 hour. */
  maxTimeoutMs?: number
  /** What happens to a call whose process ended while it ran. Default: `'unknown'`, because a server cannot be trusted. */
  onInterrupted?: OnInterrupted | ((tool: McpToolInfo) => OnInterrupted)
  /** How many characters of a result the model gets. Default: 65,536. */
  maxResult?: number
  /** Called with each tool that cannot be offered, and why. */
  onSkipped?: (name: string, reason: string) => void
}

const functionOr =
  (otherwise: Rules<McpToolOptions>['prefix']): Rules<McpToolOptions>['prefix'] =>
  (name, value) =>
    typeof value === 'function' ? undefined : otherwise(name, value)

export const toolOptionRules: Rules<McpToolOptions> = {
  prefix: rule(
    'at most 32 letters, digits, _ or -',
    (value) => typeof value === 'string' && /^[A-Za-z0-9_-]{0,32}$/.test(value),
  ),
  include: listOf(text),
  needsApproval: functionOr(flag),
  timeoutMs: amount,
  maxTimeoutMs: amount,
  onInterrupted: functionOr(oneOf('unknown', 'rerun', 'ask')),
  maxResult: amount,
  onSkipped: callable,
}

export const limitsOf = ({ timeoutMs, maxTimeoutMs }: McpToolOptions): TimeLimits => {
  const idleMs = timeoutMs ?? defaultToolTimeoutMs
  return { idleMs, totalMs: Math.max(idleMs, maxTimeoutMs ?? 3_600_000) }
}
