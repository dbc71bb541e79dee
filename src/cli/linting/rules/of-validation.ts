import type { Explained } from '../rule.js'

function warning(id: string, finds: string, why: string, mend: string): Explained {
  return { id, severity: 'warning', finds, why, mend }
}

/** Warnings of `gateway validate`, which `gateway lint` repeats: there, a comment can switch them off. */
export const VALIDATION_RULES: readonly Explained[] = [
  warning(
    'unused-upstream',
    'an upstream that no model and no route leads to',
    'It gets no request. Often a target misspells its name, or its last model was deleted.',
    'Name it as a target of a model, or delete it.',
  ),
  warning(
    'unused-kind',
    'a kind of your own that no upstream has',
    'It has no effect.',
    'Name it as the `kind` of an upstream, or delete it.',
  ),
  warning(
    'overridden-kind',
    'a kind of your own with the name of a shipped one',
    'Nothing of the shipped kind is left, and what later versions add to it does not arrive.',
    'Choose another name, and write `kind: SHIPPED` in it to change only what differs.',
  ),
  warning(
    'unused-protocol',
    'a protocol under `speaks` that no route has',
    'It is never called.',
    'Add a route with that protocol, or take the protocol of a route that exists.',
  ),
  warning(
    'unspoken-protocol',
    'a route of your own with a protocol that no upstream speaks',
    'Every request to it is refused.',
    'Let an upstream speak it, or delete the route.',
  ),
  warning(
    'unreachable-target',
    'a target that no attempt gets to',
    'It looks like a fallback, and never is one.',
    'Raise `retry.attempts`, or name failures under `retry.on`.',
  ),
  warning(
    'unreachable-model',
    'a model with `protocols` that none of its upstreams speaks',
    'Requests by these protocols are refused.',
    'Take protocols that its upstreams speak, or others that they are translated to.',
  ),
  warning(
    'regex-like-name',
    'a name that looks like a regular expression',
    'Names are globs: only `*` is special, and all else stands for itself.',
    'Write the glob, such as `large-*` for `large-.*`.',
  ),
  warning(
    'loose-limit',
    'a limit that is looser than the same one of a group around it',
    'It never decides.',
    'Make it tighter, or delete it.',
  ),
  warning(
    'idle-queue',
    'a `queue` of a model or an upstream where no limit makes requests wait',
    'It has no effect. Requests wait for room under `in_flight`, `streams`, `requests`, `tokens` or `budget` alone.',
    'Add such a limit, or delete the queue.',
  ),
  warning(
    'unused-price',
    'a price of something that no model and no target is called',
    'It is never used. A misspelt name leaves the model without a price.',
    'Correct the name, or delete the price.',
  ),
  warning(
    'unfit-price',
    'a price in units that the model does not use',
    'What requests cost is not counted, or not in full.',
    'Add prices of the units that its answers report.',
  ),
  warning(
    'late-timeout',
    '`first_byte` is longer than `total`',
    'It never ends anything: `total` comes first.',
    'Make `first_byte` shorter or `total` longer.',
  ),
  warning(
    'missing-limit',
    'a model without a limit of output at an upstream whose protocol requires one',
    'Clients of other protocols that send none are refused.',
    'Write `traits: { max_output: 8192 }` at the model or the upstream.',
  ),
  warning(
    'unknown-route',
    'a pattern of `routes` of a key, a group or `record` that fits no route',
    'It permits nothing, or nothing is recorded.',
    'Take the id of a route, as `gateway routes` prints it; of `record` its protocol.',
  ),
  warning(
    'unknown-model',
    'a model of a key, a group or another model that does not exist',
    'It permits nothing, or leads nowhere.',
    'Correct the name, or declare the model.',
  ),
  warning(
    'unknown-region',
    'a region that no upstream has',
    'Callers that are bound to it reach nothing there.',
    'Take the `region` of an upstream.',
  ),
  warning('expired-key', 'a key whose `expires` has passed', 'It is refused.', 'Delete it, or move the date.'),
  warning('weak-secret', 'a short key', 'It can be guessed.', 'Let `gateway keys new` make one.'),
  warning(
    'literal-secret',
    'a secret in the file',
    'It goes where the file goes: into version control, backups and the eyes of reviewers.',
    'Write `{ env: NAME }` or `{ file: PATH }`, and make a new secret: this one has been seen.',
  ),
  warning(
    'duplicate-secret',
    'a secret that is listed twice',
    'It gets two turns, and its rate limit is used up sooner.',
    'Delete one of them.',
  ),
  warning('shared-secret', 'a key with the same secret twice', 'One of them has no effect.', 'Delete one of them.'),
  warning(
    'open-admin',
    'an admin listener that other machines reach without TLS',
    'The admin key passes the network unencrypted.',
    'Write `admin.tls`, or bind `admin.host` to 127.0.0.1.',
  ),
  warning(
    'issuer-without-tls',
    'an issuer of tokens with an `http://` address',
    'Anyone on the way can replace its keys, and make tokens.',
    'Write `https://`.',
  ),
  warning(
    'http2-without-tls',
    '`http2` for an address without TLS',
    'It has no effect.',
    'Write `https://`, or leave `http2` out.',
  ),
  warning('certificate-validity', 'a certificate that is not valid now', 'Connections with it fail.', 'Renew it.'),
  warning(
    'no-secret',
    'a secret of the admin listener, of webhooks, receipts, telemetry or an issuer that is not there',
    'What needs it does not work; the message says what.',
    'Set the variable, or write the file.',
  ),
  warning('no-keys', 'no key that can be used', 'Every request is refused with 401.', 'Add a key.'),
  warning('no-models', 'no models', 'No request can be served.', 'Add models.'),
]
