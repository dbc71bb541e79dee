/** The protocol whose WebSockets clients may open with a short-lived secret in place of a key. */
const OPENED_BY_SECRETS = 'realtime'

/** What every such secret begins with, as the protocol's clients expect. */
export const CLIENT_SECRET_PREFIX = 'ek_'

export function takesClientSecrets(protocol: string | undefined): boolean {
  return protocol === OPENED_BY_SECRETS
}
