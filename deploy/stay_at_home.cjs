// Loaded into the cdk command by a rehearsal: it then reaches nothing but this machine.
"use strict";
const dns = require("node:dns");
const net = require("node:net");

const isLoopback = (host) =>
  host === undefined || host === null || host === "" || host === "localhost" || host === "::1" || /^127\./.test(host);

const refuse = (host) => {
  throw new Error(`A rehearsal reaches nothing but this machine, and ${host} is another.`);
};

const connect = net.Socket.prototype.connect;
net.Socket.prototype.connect = function (...args) {
  const first = Array.isArray(args[0]) ? args[0][0] : args[0];
  const host = first && typeof first === "object" ? first.host : typeof args[1] === "string" ? args[1] : undefined;
  if (!isLoopback(host)) refuse(host);
  return connect.apply(this, args);
};

const lookup = dns.lookup;
dns.lookup = function (host, ...rest) {
  if (!isLoopback(host)) refuse(host);
  return lookup.call(this, host, ...rest);
};
