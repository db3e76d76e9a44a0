/** Servers behind OAuth: the providers of the SDK against an authorization server that checks what they send. */
import { createHash, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  auth,
  ClientCredentialsProvider,
  type OAuthClientProvider,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
} from '@modelcontextprotocol/client'
import { expect, onTestFinished, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { mcpHandler } from '../../src/mcp/index.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { nodeListener } from '../../src/ui/nodeListener.ts'
import { connected } from './servers.ts'

const secret = 'the-secret'
const challengeOf = (verifier: string) => createHash('sha256').update(verifier).digest('base64url')

/** An authorization server, and an agent behind it. Tokens can be revoked. */
const protectedServer = async () => {
  const tokens = new Set<string>()
  const codes = new Map<string, string>()
  const refreshTokens = new Set<string>()
  const grants: string[] = []
  const handler = mcpHandler({ ask: new Agent(scriptedModel(['42', '43', '44'])) })
  const asked = nodeListener(handler)
  const granted = () => {
    const [access_token, refresh_token] = [randomUUID(), randomUUID()]
    tokens.add(access_token)
    refreshTokens.add(refresh_token)
    return { access_token, refresh_token, token_type: 'Bearer', expires_in: 3600 }
  }
  const grant = (form: URLSearchParams, authorization: string | undefined): object | undefined => {
    const type = form.get('grant_type') ?? ''
    grants.push(type)
    const basic = `Basic ${Buffer.from(`robot:${secret}`).toString('base64')}`
    if (type === 'client_credentials') return authorization === basic ? granted() : undefined
    if (type === 'refresh_token')
      return refreshTokens.delete(form.get('refresh_token') ?? '') ? granted() : undefined
    const code = form.get('code') ?? ''
    const isProven = codes.get(code) === challengeOf(form.get('code_verifier') ?? '')
    return codes.delete(code) && isProven ? granted() : undefined
  }
  const server = createServer((request, response) => {
    const base = `http://${request.headers.host}`
    const { pathname, searchParams } = new URL(request.url ?? '', base)
    const json = (status: number, body: object, headers = {}) =>
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
    if (pathname.startsWith('/.well-known/oauth-protected-resource'))
      json(200, { resource: `${base}/mcp`, authorization_servers: [base] })
    else if (pathname.startsWith('/.well-known/'))
      json(200, {
        issuer: base,
        authorization_endpoint: `${base}/authorize`,
        token_endpoint: `${base}/token`,
        registration_endpoint: `${base}/register`,
        response_types_supported: ['code'],
        grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['client_secret_basic', 'none'],
      })
    else if (pathname === '/register')
      json(201, { client_id: 'page', redirect_uris: ['http://localhost/done'] })
    else if (pathname === '/authorize') {
      const code = randomUUID()
      codes.set(code, searchParams.get('code_challenge') ?? '')
      json(200, { code })
    } else if (pathname === '/token') {
      let body = ''
      request.on('data', (part) => {
        body += part
      })
      request.on('end', () => {
        const made = grant(new URLSearchParams(body), request.headers.authorization)
        json(made ? 200 : 400, made ?? { error: 'invalid_grant' })
      })
    } else if (tokens.has((request.headers.authorization ?? '').replace('Bearer ', '')))
      asked(request, response)
    else {
      const challenge = `Bearer resource_metadata="${base}/.well-known/oauth-protected-resource/mcp"`
      json(401, { error: 'invalid_token' }, { 'www-authenticate': challenge })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    await handler.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/mcp`, issuer: `http://127.0.0.1:${port}`, tokens, grants }
}

const answersOf = async (remote: Awaited<ReturnType<typeof connected>>) => {
  const script = [[{ toolCall: { name: 'ask', arguments: { prompt: '?' } } }], 'done']
  const { messages } = await new Agent(scriptedModel(script), { tools: [remote] }).send('go')
  return messages.flatMap(toolResultsOf).map(({ result }) => result)
}

test('a program signs in by itself, and again when its token is no longer valid', async () => {
  const { url, issuer, tokens, grants } = await protectedServer()
  const authProvider = new ClientCredentialsProvider({
    clientId: 'robot',
    clientSecret: secret,
    expectedIssuer: issuer,
  })
  const remote = await connected({ url, authProvider, needsApproval: false })
  expect(await answersOf(remote)).toEqual(['42'])
  expect(grants).toEqual(['client_credentials'])
  tokens.clear()
  expect(await answersOf(remote)).toEqual(['43'])
  expect(grants.length).toBeGreaterThan(1)
})

test('a wrong secret is refused, and no error shows it', async () => {
  const { url, issuer } = await protectedServer()
  const authProvider = new ClientCredentialsProvider({
    clientId: 'robot',
    clientSecret: 'wrong-one',
    expectedIssuer: issuer,
  })
  const failure = await connected({ url, authProvider }).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(Error)
  expect(JSON.stringify(failure) + String(failure)).not.toContain('wrong-one')
})

test('a person signs in on a page, and the connection is made afterwards', async () => {
  const { url, tokens, grants } = await protectedServer()
  let opened: URL | undefined
  let information: StoredOAuthClientInformation | undefined
  let saved: StoredOAuthTokens | undefined
  let verifier = ''
  const authProvider: OAuthClientProvider = {
    redirectUrl: 'http://localhost/done',
    clientMetadata: { redirect_uris: ['http://localhost/done'], token_endpoint_auth_method: 'none' },
    clientInformation: () => information,
    saveClientInformation: (given) => {
      information = given
    },
    tokens: () => saved,
    saveTokens: (given) => {
      saved = given
    },
    redirectToAuthorization: (page) => {
      opened = page
    },
    saveCodeVerifier: (given) => {
      verifier = given
    },
    codeVerifier: () => verifier,
  }
  await expect(connected({ url, authProvider })).rejects.toThrow()
  const { code } = (await (await fetch(opened ?? '')).json()) as { code: string }
  expect(await auth(authProvider, { serverUrl: url, authorizationCode: code })).toBe('AUTHORIZED')
  const remote = await connected({ url, authProvider, needsApproval: false })
  expect(await answersOf(remote)).toEqual(['42'])
  tokens.clear()
  expect(await answersOf(remote)).toEqual(['43'])
  expect(grants).toContain('refresh_token')
})
