// The lease of a blob, from the outcome tables of the reference.  Time is in milliseconds.

export const NO_LEASE = { state: 'available' };

const INFINITE = -1;
const FOR_EVER = 'never';
const isLocked = (lease) => lease.state === 'leased' || lease.state === 'breaking';

// The lease as it is at this time; the same object if time has done nothing to it.
export function settled(lease, now) {
  if (!isLocked(lease) || lease.ends === FOR_EVER || now < lease.ends) return lease;
  const { id, seconds } = lease;
  return lease.state === 'leased' ? { state: 'expired', id, seconds } : { state: 'broken', id };
}

const start = (id, seconds, now) => ({ state: 'leased', id, seconds,
  ends: seconds === INFINITE ? FOR_EVER : now + seconds * 1000 });

// The code with which a use of the blob is refused, or undefined.
export function refusedUse(lease, id, { writes }) {
  if (id === undefined) return isLocked(lease) && writes ? 'LeaseIdMissing' : undefined;
  if (isLocked(lease)) return lease.id === id ? undefined : 'LeaseIdMismatchWithBlobOperation';
  return lease.id === id ? 'LeaseLost' : 'LeaseNotPresentWithBlobOperation';
}

// What a write leaves of the lease.
export const afterWrite = (lease) => (isLocked(lease) ? lease : NO_LEASE);

const mismatch = { code: 'LeaseIdMismatchWithLeaseOperation' };
const absent = { code: 'LeaseNotPresentWithLeaseOperation' };

// Each gets a settled lease and gives { code } or { lease, ... }.
export const ACTIONS = {
  acquire(lease, { id, seconds }, now) {
    if (isLocked(lease) && lease.id !== id) return { code: 'LeaseAlreadyPresent' };
    if (lease.state === 'breaking') return { code: 'LeaseIsBreakingAndCannotBeAcquired' };
    return { lease: start(id, seconds, now) };
  },

  renew(lease, { id }, now) {
    if (lease.id !== id) return mismatch;
    if (lease.state === 'breaking' || lease.state === 'broken') {
      return { code: 'LeaseIsBrokenAndCannotBeRenewed' };
    }
    return { lease: start(id, lease.seconds, now) };
  },

  change(lease, { id, to }) {
    if (!isLocked(lease)) return absent;
    if (lease.state === 'breaking') {
      return lease.id === id ? { code: 'LeaseIsBreakingAndCannotBeChanged' } : mismatch;
    }
    if (lease.id !== id && lease.id !== to) return mismatch;
    return { lease: { ...lease, id: to } };
  },

  release(lease, { id }) {
    return lease.id === id ? { lease: NO_LEASE } : mismatch;
  },

  break(lease, { seconds }, now) {
    if (lease.state === 'available') return absent;
    let left = 0;
    if (isLocked(lease)) {
      const whole = lease.ends === FOR_EVER ? Infinity : lease.ends - now;
      const asked = seconds === undefined ? (whole === Infinity ? 0 : whole) : seconds * 1000;
      left = Math.min(asked, whole);
    }
    const { id } = lease;
    return { time: Math.ceil(left / 1000),
      lease: left > 0 ? { state: 'breaking', id, ends: now + left } : { state: 'broken', id } };
  },
};
