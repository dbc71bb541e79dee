import type { Manager, ManagersConfig } from '../../core/secret-managers.js'
import { CredentialFault } from '../../net/signer.js'
import type { Outside } from '../oauth2.js'
import type { SecretManager } from './manager.js'

/** The managers of a configuration; each is loaded when a secret is first read from it. */
export function openManagers(config: ManagersConfig, outside: Outside): (manager: Manager) => Promise<SecretManager> {
  const opened = new Map<Manager, Promise<SecretManager>>()
  return manager => {
    const known = opened.get(manager) ?? open(manager, config, outside)
    opened.set(manager, known)
    return known
  }
}

async function open(manager: Manager, { vault, aws, gcp }: ManagersConfig, outside: Outside): Promise<SecretManager> {
  if (manager === 'vault' && vault !== undefined) return (await import('./vault.js')).openVault(vault, outside)
  if (manager === 'aws' && aws !== undefined) return (await import('./aws.js')).openAwsManager(aws, outside)
  if (manager === 'gcp' && gcp !== undefined) return (await import('./gcp.js')).openGcpManager(gcp, outside)
  throw new CredentialFault(`secret_managers.${manager} is not there`)
}
