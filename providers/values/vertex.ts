/**
 * Google's cloud as a value: Gemini, and Claude.
 *
 * @module statewire/providers/vertex
 */

import { modelMaker, providerValue } from '../chatModels.ts'
import { claudeElsewhere, claudeProfileElsewhere } from '../clouds/claude.ts'
import { type GoogleProfile, geminiProfile, google } from '../google/index.ts'
import { modelPath } from '../google/request.ts'
import type { KeyHeader } from '../http/connection.ts'
import { bearer, type EnvironmentServer } from '../http/connectionOf.ts'
import { googlePrices } from '../models/priceLists.ts'
import type { Protocol } from '../wire/protocol.ts'

/** Gemini's own wire, below a project; models tuned there are endpoints. */
const vertexGemini: Protocol<GoogleProfile> = {
  ...google,
  request(request, target) {
    const wire = google.request(request, target)
    const model = target.model.replace(/^models\//, '')
    const resource = /^(publishers|endpoints)\//.test(model) ? model : `publishers/google/models/${model}`
    return { ...wire, path: `/${modelPath(resource)}:streamGenerateContent?alt=sse` }
  },
}

const vertexClaude = claudeElsewhere('vertex-2023-10-16', (wire, model) => ({
  ...wire,
  path: `/publishers/anthropic/models/${modelPath(model.replace(/^publishers\/anthropic\/models\//, ''))}:streamRawPredict`,
}))

/** The global endpoint and the two multi-regions have their own hosts. */
const hostOf = (location: string): string => {
  if (location === 'global') return 'aiplatform.googleapis.com'
  if (location === 'us' || location === 'eu') return `aiplatform.${location}.rep.googleapis.com`
  return `${location}-aiplatform.googleapis.com`
}

const projectServer: EnvironmentServer = {
  variables: ['GOOGLE_CLOUD_PROJECT', 'GOOGLE_CLOUD_LOCATION'],
  url(read) {
    const project = read('GOOGLE_CLOUD_PROJECT')
    const location = read('GOOGLE_CLOUD_LOCATION') ?? 'global'
    if (project === undefined || !/^[a-z0-9-]+$/.test(location)) return undefined
    return `https://${hostOf(location)}/v1/projects/${encodeURIComponent(project)}/locations/${location}`
  },
}

/** Access tokens go as such; any other text is a key of Google Cloud. */
const keyHeader: KeyHeader = (key, isToken) =>
  isToken || key.startsWith('ya29.') ? bearer(key) : { 'x-goog-api-key': key }

const place = {
  name: 'vertex',
  server: projectServer,
  baseUrl: 'https://{location}-aiplatform.googleapis.com/v1/projects/{project}/locations/{location}',
  hosts: /^([a-z0-9-]+-)?aiplatform(\.(us|eu)\.rep)?\.googleapis\.com$/,
  keyVariable: 'GOOGLE_API_KEY',
  keyForms: 'a key of Google Cloud, or a function that gives an access token',
  keyHeader,
}

const gemini = {
  ...place,
  protocol: vertexGemini,
  priceList: googlePrices,
  defaultModel: 'gemini-3.8-flash',
  profile: (model: string): GoogleProfile => {
    const profile: GoogleProfile = { ...geminiProfile(model), fileSearch: false }
    return profile.mixedTools ? { ...profile, mixedTools: 'silent' } : profile
  },
}

const claude = {
  ...place,
  protocol: vertexClaude,
  defaultModel: 'claude-sonnet-5-5',
  profile: claudeProfileElsewhere({ serverTools: 'webSearch', nativeSchema: false }),
}

const [geminiModel, claudeModel] = [modelMaker(gemini), modelMaker(claude)]

/**
 * A model of Gemini or Claude in Google's cloud.
 *
 * @example const agent = new Agent(vertex('gemini-3.8-flash'), { tools })
 */
export const vertex = providerValue(gemini, (model = gemini.defaultModel, options) =>
  (/(^|\/)claude/.test(model) ? claudeModel : geminiModel)(model, options),
)
