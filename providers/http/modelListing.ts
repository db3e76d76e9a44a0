import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import type { ModelInfo } from '../provider.ts'
import { arrayAt, stringAt } from '../wire/wireJson.ts'

/** Where a provider lists its models. */
export type ModelListing = {
  path: string
  /** Where the list is, if it is not below the provider's base URL, which is the argument. */
  baseUrl?: (ownUrl: string) => string
}

/** Reads a list of models: `{ data: [{ id }] }`, `{ models: [{ name }] }`, `{ modelSummaries: [{ modelId }] }` or a bare array. */
export const readModels = (body: JsonValue): ModelInfo[] => {
  const list = Array.isArray(body)
    ? body
    : isJsonObject(body)
      ? (arrayAt(body, 'data') ?? arrayAt(body, 'models') ?? arrayAt(body, 'modelSummaries') ?? [])
      : []
  return list.filter(isJsonObject).flatMap((details) => {
    const id = idOf(details)
    return id === undefined ? [] : [{ id, details }]
  })
}

/** Google writes `models/gemini-…` where everywhere else the name alone is used. */
const idOf = (model: JsonObject): string | undefined =>
  stringAt(model, 'id') ?? stringAt(model, 'modelId') ?? stringAt(model, 'name')?.replace(/^models\//, '')
