import type { HostedFrom } from '../../agent/Agent.ts'
import { isJsonObject } from '../../messages/json.ts'
import type { ItemSource } from './Items.ts'
import { unpack } from './pack.ts'
import { damaged } from './storeError.ts'

/** What a stored run continues from: the input of one that has not started, or a snapshot, which its machine checks. */
export const hostedFrom = (head: string, items: ItemSource): HostedFrom => {
  const from = unpack(head, items)
  if (!isHostedFrom(from)) throw damaged('a run has neither an input nor a snapshot')
  return from
}

const isHostedFrom = (from: unknown): from is HostedFrom =>
  isJsonObject(from) && (isJsonObject(from.snapshot) || isJsonObject(from.input))
