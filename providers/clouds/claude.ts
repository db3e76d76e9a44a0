import { type AnthropicProfile, anthropic, anthropicProfile } from '../anthropic/index.ts'
import type { Protocol, WireRequest } from '../wire/protocol.ts'

/**
 * Claude as a cloud offers it: the model is a part of the path, the version of the API a field of the body, and `adapt`
 * does the rest.
 */
export const claudeElsewhere = (
  version: string,
  adapt: (wire: WireRequest, model: string) => WireRequest,
): Protocol<AnthropicProfile> => ({
  ...anthropic,
  request(request, target) {
    const { body, headers = {}, ...about } = anthropic.request(request, target)
    const { model: _, ...rest } = body
    const { 'anthropic-version': __, 'anthropic-beta': beta, ...others } = headers
    // A beta is a field of the body here, too.
    const betas = beta === undefined ? {} : { anthropic_beta: beta.split(',') }
    const wire = { body: { anthropic_version: version, ...betas, ...rest }, headers: others }
    return { ...about, ...adapt({ ...wire, path: '' }, target.model) }
  },
})

/** The clouds do not read links, and not each of them takes a schema for the answer. */
export const claudeProfileElsewhere =
  (cloud: Pick<AnthropicProfile, 'serverTools'> & { nativeSchema: boolean }) =>
  (model: string): AnthropicProfile => {
    const profile = anthropicProfile(model)
    const attachments = { ...profile.attachments, links: false }
    return { ...profile, ...cloud, nativeSchema: profile.nativeSchema && cloud.nativeSchema, attachments }
  }
