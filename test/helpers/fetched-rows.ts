import type { Source } from './source-rules.js'

/** An address to which the gateway, or a command, connects. */
export interface FetchedRow {
  readonly address: string
  readonly setBy: string
  readonly guard: string
  /** Files of the product that ask for connections there. */
  readonly by: readonly string[]
  /** File of a test, and its title or a part of it as in the source. */
  readonly test: readonly [file: string, title: string]
}

const PUBLIC = 'only public addresses, and what allow names; the connection goes to what was checked'
const OF_FILE = 'who writes the file decides; redirects are not followed'
const WITHOUT_REDIRECTS = ['faults/fetched-redirects', 'F-X1 redirects: '] as const

/** Every address that is fetched: who may set it, and what guards it. */
export const FETCHED: readonly FetchedRow[] = [
  {
    address: 'media that a request names',
    ...{ setBy: 'a client', guard: `off; ${PUBLIC}` },
    by: ['src/kernel/generation.ts'],
    test: ['faults/media', 'F-X1 no spelling of an inner address is connected to, and each is logged as blocked'],
  },
  {
    address: 'where media redirect to',
    ...{ setBy: 'a host that is allowed', guard: 'each hop as the first' },
    by: ['src/kernel/generation.ts'],
    test: ['faults/media', 'a redirect to a forbidden address makes no connection there'],
  },
  {
    address: 'names of media that change their addresses',
    ...{ setBy: 'a name server', guard: 'one look-up, which is checked, for each connection' },
    by: ['src/kernel/generation.ts'],
    test: ['faults/fetched-names', 'F-X1 rebinding: media of a request'],
  },
  {
    address: 'webhooks of tasks',
    ...{ setBy: 'a client', guard: `off; https; ${PUBLIC}` },
    by: ['src/features/tasks/hooks.ts'],
    test: ['faults/webhooks', 'F-X1 addresses that no webhook may have are refused when they are given'],
  },
  {
    address: 'notifyHook of image tasks',
    ...{ setBy: 'a client', guard: 'as other webhooks' },
    by: ['src/features/tasks/hooks.ts'],
    test: ['faults/image-webhooks', 'F-X1 a notifyHook at an inner address is refused, or not called'],
  },
  {
    address: 'names of webhooks that change their addresses',
    ...{ setBy: 'a name server', guard: 'one look-up, which is checked, for each attempt' },
    by: ['src/features/tasks/hooks.ts'],
    test: ['faults/fetched-names', 'F-X1 rebinding: a webhook'],
  },
  {
    address: 'where webhooks redirect to',
    ...{ setBy: 'the target of a webhook', guard: 'redirects are not followed' },
    by: ['src/features/tasks/hooks.ts'],
    test: ['faults/fetched-redirects', 'F-X1 redirects: a webhook'],
  },
  {
    address: 'results of tasks',
    ...{ setBy: 'an upstream', guard: PUBLIC },
    by: ['src/features/tasks/content.ts'],
    test: ['faults/fetched-addresses', 'F-X1 a result at an inner address, in any spelling, is not fetched'],
  },
  {
    address: 'where content redirects to',
    ...{ setBy: 'an upstream, or a host that has a result', guard: 'each hop as a result, without the credential' },
    by: ['src/features/tasks/content.ts'],
    test: ['faults/fetched-addresses', 'F-X1 a redirect of content to an inner address is not followed'],
  },
  {
    address: 'results behind a signed link',
    ...{ setBy: 'an upstream; anyone who has the link asks', guard: 'as other results' },
    by: ['src/features/tasks/content.ts'],
    test: ['faults/fetched-elsewhere', 'F-X1 a signed link, which needs no key, fetches no inner address either'],
  },
  {
    address: 'names of results that change their addresses',
    ...{ setBy: 'a name server', guard: 'one look-up, which is checked, for each connection' },
    by: ['src/features/tasks/content.ts'],
    test: ['faults/fetched-names', "['a redirect of content', true]"],
  },
  {
    address: 'where an upload continues',
    ...{ setBy: 'an upstream', guard: "only the upstream's own origin" },
    by: ['src/kernel/generation.ts'],
    test: ['faults/upload-sessions', 'F-X1 F-U21 an address that is not the upstream’s own is refused'],
  },
  {
    address: 'what the document of an issuer names: jwks_uri, introspection_endpoint',
    ...{ setBy: 'an issuer', guard: `${PUBLIC}; ports of the file` },
    by: [
      'src/features/identity/fetch-json.ts',
      'src/features/identity/key-set.ts',
      'src/features/identity/introspect.ts',
    ],
    test: ['faults/fetched-addresses', 'F-X1 what the document of an issuer names at an inner address is not asked'],
  },
  {
    address: 'where issuers redirect to',
    ...{ setBy: 'an issuer', guard: 'redirects are not followed' },
    by: ['src/features/identity/fetch-json.ts'],
    test: ['faults/fetched-redirects', 'F-X1 redirects: an issuer, its keys, and where it is asked about tokens'],
  },
  {
    address: 'names of issuers that change their addresses',
    ...{ setBy: 'a name server', guard: 'one look-up, which is checked, for each connection' },
    by: ['src/features/identity/fetch-json.ts'],
    test: ['faults/fetched-names', 'F-X1 rebinding: keys of an issuer, between its document and them'],
  },
  {
    address: 'iss, jku, x5u and jwk of a token',
    ...{ setBy: 'who sends a token', guard: 'not fetched: keys are those of issuers of the file' },
    by: ['src/features/identity/key-set.ts'],
    test: ['faults/fetched-elsewhere', 'F-X1 a token names no address: neither by its issuer nor by its header'],
  },
  {
    address: "what the issuer of the console's sign-in names: token_endpoint, jwks_uri",
    ...{ setBy: 'an issuer', guard: PUBLIC },
    by: ['src/features/identity/sign-in.ts'],
    test: ['faults/fetched-sign-in', 'F-X1 what the issuer of the console names at an inner address is not asked'],
  },
  {
    address: 'authorization_endpoint, to which a browser is sent',
    ...{ setBy: 'an issuer', guard: 'https, or as the issuer itself' },
    by: ['src/features/identity/sign-in.ts'],
    test: [
      'faults/fetched-sign-in',
      'F-X1 a browser is sent to an address of the web alone, not where the issuer of the console says',
    ],
  },
  {
    address: 'issuers and their keys',
    ...{ setBy: 'the file', guard: 'also these must be public, or in allow' },
    by: ['src/features/identity/fetch-json.ts'],
    test: [
      'faults/fetched-addresses',
      'F-X1 addresses of the file: upstreams may be anywhere, issuers and their keys only where allow says so',
    ],
  },
  {
    address: 'upstreams: requests, probes, lists of models, mirrors, polls, test calls, and doctor',
    ...{ setBy: 'the file', guard: OF_FILE },
    by: [
      ...['src/kernel/generation.ts', 'src/runtime/gateway.ts', 'src/runtime/audit/chains.ts'],
      ...['src/runtime/try-credential.ts', 'src/runtime/upstream-line.ts', 'src/cli/diagnosis/upstreams.ts'],
    ],
    test: ['faults/upstream-answers', 'is not followed, and no key goes to the new host'],
  },
  {
    address: 'copies of requests',
    ...{ setBy: 'the file', guard: 'they go to a model of the file, as any request' },
    by: ['src/kernel/generation.ts'],
    test: [
      'features/mirrors/mirrors',
      'a copy goes to the mirror by the name that it has there, and has a log line of its own',
    ],
  },
  {
    address: 'the path at an upstream',
    ...{ setBy: 'a client, by names and ids', guard: 'encoded, one segment; the host is never theirs' },
    by: ['src/kernel/generation.ts'],
    test: ['faults/request-json', 'F-C14 a path parameter stays one segment of the upstream path'],
  },
  {
    address: 'absolute targets of requests, CONNECT',
    ...{ setBy: 'a client', guard: 'the gateway is not a forward proxy' },
    by: ['src/kernel/generation.ts'],
    test: ['faults/request-framing', 'F-C15 it is never a forward proxy'],
  },
  {
    address: 'WebSockets of upstreams',
    ...{ setBy: 'the file', guard: OF_FILE },
    by: ['src/features/tunnels/attempt.ts'],
    test: ['faults/fetched-redirects', 'F-X1 redirects: a WebSocket of an upstream'],
  },
  {
    address: 'token servers of oauth2',
    ...{ setBy: 'the file', guard: OF_FILE },
    by: ['src/credentials/oauth2.ts', 'src/credentials/open-signer.ts'],
    test: WITHOUT_REDIRECTS,
  },
  {
    address: 'token servers in files of credentials, and the metadata server (gcp)',
    ...{
      setBy: 'the file, the environment, a file of credentials',
      guard: 'https, this machine or link-local; no redirects',
    },
    by: ['src/credentials/gcp.ts', 'src/credentials/gcp-subject.ts', 'src/credentials/open-signer.ts'],
    test: ['e2e/cloud-credentials', 'gcp: addresses in a file of credentials lead over TLS, or nowhere'],
  },
  {
    address: 'the token service, containers and machines (aws-sigv4)',
    ...{ setBy: 'the environment', guard: 'https, this machine or link-local; no redirects' },
    by: ['src/credentials/aws/access.ts', 'src/credentials/open-signer.ts', 'src/cli/remote-s3.ts'],
    test: [
      'e2e/cloud-credentials',
      'aws-sigv4: credentials are not fetched from just anywhere, and an unsigned body is not covered',
    ],
  },
  {
    address: 'secret managers',
    ...{ setBy: 'the file', guard: OF_FILE },
    by: [
      ...['src/credentials/managers/vault.ts', 'src/credentials/managers/aws.ts', 'src/credentials/managers/gcp.ts'],
      'src/runtime/load.ts',
    ],
    test: [
      'e2e/secret-managers',
      'what a manager says in place of a secret is a fault, and redirects are not followed',
    ],
  },
  {
    address: 'what a draft of the file names',
    ...{ setBy: 'who may look at the console', guard: 'a check fetches nothing' },
    by: ['src/runtime/load.ts'],
    test: ['faults/fetched-elsewhere', 'F-X1 a draft of the file that is checked, fetches nothing'],
  },
  {
    address: 'the collector of traces and metrics',
    ...{ setBy: 'the file', guard: OF_FILE },
    by: ['src/features/otlp/sender.ts'],
    test: ['faults/fetched-redirects', 'F-X1 redirects: a collector of traces'],
  },
  {
    address: 'a configuration at an address, also one that an object store has signed',
    ...{ setBy: 'the command line', guard: 'https, or a digest or signature; redirects are not followed' },
    by: ['src/runtime/source/http.ts', 'src/cli/remote.ts', 'src/cli/remote-s3.ts'],
    test: ['cli/address', 'validate and explain read an address, and say what is wrong with it'],
  },
  {
    address: 'a configuration in a git repository',
    ...{ setBy: 'the command line', guard: 'redirects are not followed; no program is run' },
    by: ['src/cli/remote-git.ts'],
    test: [
      'faults/fetched-redirects',
      'F-X1 redirects: a configuration from a git server, whose login goes nowhere else',
    ],
  },
  {
    address: '$ref of a schema',
    ...{ setBy: 'the file', guard: 'not fetched: a schema refers to parts of itself' },
    by: ['src/runtime/load.ts'],
    test: ['config/own-schemas', 'every fault of a schema is reported'],
  },
  {
    address: 'stores',
    ...{ setBy: 'the file', guard: 'who writes the file decides' },
    by: ['src/stores/postgres-pool.ts', 'src/stores/redis-client.ts', 'src/stores/redis-connection.ts'],
    test: ['stores/redis', 'a server'],
  },
  {
    address: 'a running gateway, by commands',
    ...{ setBy: 'the command line, or the file', guard: 'who runs the command decides' },
    by: [
      ...['src/cli/admin-api.ts', 'src/cli/diagnosis/ports.ts', 'src/cli/testing/client.ts'],
      ...['src/cli/trying/ask.ts', 'src/cli/trying/video.ts', 'src/cli/trying/chat.ts', 'src/runtime/mounted.ts'],
    ],
    test: ['cli/try', 'gateway try asks models of a running gateway'],
  },
  {
    address: 'an image that gateway try is to save',
    ...{ setBy: 'an upstream', guard: 'only the gateway itself and public addresses; each hop as the first' },
    by: ['src/cli/trying/media.ts', 'src/cli/trying/public-file.ts'],
    test: [
      'faults/fetched-elsewhere',
      'F-X1 gateway try fetches an image of a public address, or of the gateway itself',
    ],
  },
]

/** Files that make connections for those above, and choose no address themselves. */
const MACHINERY = [
  ...['src/net/', 'src/transport/client/'],
  // Programs that the file or the command line names, and Git repositories on this machine.
  ...['src/credentials/exec.ts', 'src/cli/planning/git.ts', 'src/cli/service-manager.ts'],
]

/** What of Node and of packages opens connections, or finds addresses. */
const OPENING: Readonly<Record<string, RegExp>> = {
  'node:http': /^(request|get|Agent)$/,
  'node:https': /^(request|get|Agent)$/,
  'node:http2': /^connect$/,
  'node:net': /^(connect|createConnection)$/,
  'node:tls': /^connect$/,
  'node:dns': /./,
  'node:dns/promises': /./,
  'node:child_process': /./,
  ws: /./,
  undici: /./,
  ioredis: /./,
  pg: /./,
}

/** What of our own does. */
const OWN = new Set([
  ...[
    'ask',
    'GuardedHttp',
    'guardedClient',
    'MediaFetcher',
    'OtlpClient',
    'Pools',
    'inspect',
    'openUpstream',
    'Egress',
  ],
  ...['createConnection', 'fetchJson', 'postForToken', 'fetchOAuthToken', 'fetchGcpToken', 'fetchAccess'],
])

const IMPORT = /^import (?!type )([^']+?) from '([^']+)'/gm
const GLOBAL_FETCH = /(?<![.\w#>])(?<!async )(?<!private )fetch\(/

/** Names by which a file may open connections. */
export function openersIn({ text }: Source): string[] {
  const found = [...text.matchAll(IMPORT)].flatMap(([, names = '', from = '']) =>
    [...names.replace(/\btype \w+/g, '').matchAll(/\w+(?= as )|(?<! as )\b\w+/g)]
      .map(([name]) => name)
      .filter(name => (from.startsWith('.') ? OWN.has(name) : OPENING[from]?.test(name) === true)),
  )
  return GLOBAL_FETCH.test(text) ? [...found, 'fetch'] : found
}

export function isMachinery(path: string): boolean {
  return MACHINERY.some(one => path.startsWith(one))
}
