// SPDX-License-Identifier: Apache-2.0 OR MIT
"use strict";

const LOOK_EVERY_MS = 2000;
const HISTORY_EVERY_MS = 60000;
const SVG = "http://www.w3.org/2000/svg";

// What follows # is sent to nobody; it stays out of sight, and of bookmarks, from then on.
if (location.hash.length > 1) {
	sessionStorage.setItem("token", location.hash.slice(1));
	history.replaceState(null, "", location.pathname);
}
const token = sessionStorage.getItem("token") || "";

// How things stand, and how they stood a look earlier.
let latest = null;
let before = null;
let past = null;
// The lists of connections that somebody has opened.
const opened = new Set();
// What is drawn anew between the press and the release of a switch would never see the latter.
let isPressed = false;
for (const name of ["pointerdown", "keydown"]) addEventListener(name, () => { isPressed = true; });
for (const name of ["pointerup", "pointercancel", "keyup", "blur"]) {
	// What it does comes first.
	addEventListener(name, () => setTimeout(() => { isPressed = false; }));
}

async function ask(path, body) {
	const answer = await fetch(path, {
		method: body ? "POST" : "GET",
		headers: { Authorization: `Bearer ${token}` },
		body: body ? JSON.stringify(body) : undefined,
	});
	if (!answer.ok) throw new Error(await answer.text());
	return answer.json();
}

function make(name, text, kind) {
	const node = document.createElement(name);
	if (text !== undefined) node.textContent = text;
	if (kind) node.className = kind;
	return node;
}

function bits(bytesPerS) {
	const value = bytesPerS * 8;
	if (value >= 1e9) return `${(value / 1e9).toFixed(1)} Gbit/s`;
	if (value >= 1e6) return `${(value / 1e6).toFixed(1)} Mbit/s`;
	return `${(value / 1e3).toFixed(0)} kbit/s`;
}

function bytes(value) {
	if (value >= 1e9) return `${(value / 1e9).toFixed(1)} GB`;
	return `${(value / 1e6).toFixed(1)} MB`;
}

function milliseconds(us) {
	return `${(us / 1e3).toFixed(1)} ms`;
}

function time(seconds) {
	if (seconds >= 3600) return `${(seconds / 3600).toFixed(1)} h`;
	if (seconds >= 60) return `${(seconds / 60).toFixed(0)} min`;
	return `${seconds.toFixed(0)} s`;
}

// A gateway's rule has its gateway's name in front, as in the history.
const title = (rule) => (rule.gateway ? `${rule.gateway}/${rule.name}` : rule.name);

// Bytes in a second since the look before; 0 at first, and where ebbd has begun again.
function rate(now, rule, key) {
	const old = before && before.rules.find((it) => it.gateway === rule.gateway && it.name === rule.name);
	const seconds = before ? now.at_unix_s - before.at_unix_s : 0;
	return old && seconds > 0 ? Math.max(0, (rule[key] - old[key]) / seconds) : 0;
}

function reasons(rule) {
	if (rule.state === "off") return "switched off: it takes what it gets";
	if (rule.state === "failed") {
		const where = rule.gateway ? ` on ${rule.interfaces.join(" or ")}` : "";
		return `not in force${where}: see journalctl -u ebbd`;
	}
	const counts = new Map();
	for (const flow of rule.flows) {
		if (flow.reason) counts.set(flow.reason, (counts.get(flow.reason) || 0) + 1);
	}
	if (counts.size) {
		return "yields: " + [...counts].map(([reason, n]) => `${reason} (${n})`).join(", ");
	}
	return rule.connections ? "takes what nobody else wants" : "no connection";
}

function number(value, label) {
	const node = make("div");
	node.append(make("b", value), make("span", label));
	return node;
}

function connections(rule) {
	const list = make("ul");
	for (const flow of rule.flows) {
		const arrow = flow.direction === "down" ? "from" : "to";
		const queue = flow.queue_us === null ? "" : `, queue ${milliseconds(flow.queue_us)}`;
		const why = flow.reason || flow.mode;
		const device = rule.gateway ? `${flow.local} ` : "";
		const moved = bytes(flow.payload_bytes);
		list.append(make("li", `${device}${arrow} ${flow.peer}: ${moved}${queue}, ${why}`));
	}
	const details = make("details");
	details.open = opened.has(title(rule));
	details.addEventListener("toggle", () => {
		if (details.open) opened.add(title(rule));
		else opened.delete(title(rule));
	});
	details.append(make("summary", `Connections: ${rule.connections}`), list);
	return details;
}

function drawing(bins, name) {
	const svg = document.createElementNS(SVG, "svg");
	svg.setAttribute("viewBox", `0 0 ${bins} 100`);
	svg.setAttribute("preserveAspectRatio", "none");
	svg.setAttribute("role", "img");
	svg.setAttribute("aria-label", name);
	return svg;
}

// In percent of the height, from below.
function bar(svg, at, from, height, kind) {
	if (height <= 0) return;
	const rect = document.createElementNS(SVG, "rect");
	rect.setAttribute("x", at);
	rect.setAttribute("y", 100 - from - height);
	rect.setAttribute("width", 1);
	rect.setAttribute("height", height);
	rect.setAttribute("class", kind);
	svg.append(rect);
}

function caption(...parts) {
	const node = make("figcaption");
	node.append(...parts.map((part) => make("span", part)));
	return node;
}

// Bars of what came in and went out in each bin, of a rule and above it of all others; how much one
// of the two comes to is told.
function picture(own, others, told, name) {
	const most = Math.max(...own.map((value, at) => value + others[at]), 1);
	const sum = told.reduce((left, right) => left + right, 0);
	const svg = drawing(own.length, `${name}: ${bytes(sum)} in 24 hours`);
	own.forEach((value, at) => {
		bar(svg, at, 0, (100 * value) / most, "own");
		bar(svg, at, (100 * value) / most, (100 * others[at]) / most, "other");
	});
	const text = `${bytes(sum)}; top of the picture: ${bits(most / past.bin_s)}`;
	return [svg, caption("24 hours ago", text, "now")];
}

// The mean queueing delay in each bin, where a law saw any.
function delays(queues, name) {
	const known = queues.filter((queue) => queue !== null);
	if (!known.length) return [];
	const most = Math.max(...known, 1);
	const text = `queueing delay, at the most ${milliseconds(most)} on average of 10 minutes`;
	const svg = drawing(queues.length, `${name}: ${text}`);
	svg.classList.add("low");
	// A delay of nothing is seen as well.
	queues.forEach((queue, at) => {
		if (queue !== null) bar(svg, at, 0, Math.max(2, (100 * queue) / most), "delay");
	});
	return [svg, caption(text)];
}

const both = (series) => series.down.map((value, at) => value + series.up[at]);

// What passes arrives on one interface and is sent on another: of others it is counted once, too.
function meanwhile(rule) {
	return rule.gateway ? past.others.down : both(past.others);
}

function laws(rule) {
	if (rule.gateway) return `of what passes ${rule.interfaces.join(" and ")}, by ${rule.policy}`;
	const floor = rule.minimum ? `, ${rule.minimum} at the least` : "";
	const weight = rule.weight ? `, weight ${rule.weight}` : "";
	return `by ${rule.policy}, sending by ${rule.upload_policy || "none"}${floor}${weight}`;
}

// A gateway is switched with all its rules.
function switchName(rule) {
	const what = rule.state === "off" ? "Switch on" : "Switch off";
	return rule.gateway ? `${what} ${rule.gateway}` : what;
}

function card(now, rule) {
	const node = make("section", undefined, `card ${rule.state}`);
	const head = make("div", undefined, "head");
	const button = make("button", switchName(rule));
	button.disabled = rule.state === "failed";
	button.addEventListener("click", () => flip(rule, button));
	head.append(make("h2", title(rule)), button);
	const numbers = make("div", undefined, "numbers");
	numbers.append(
		number(bits(rate(now, rule, "received_bytes")), "arrives"),
		number(bits(rate(now, rule, "sent_bytes")), "is sent"),
		number(time(rule.held_back_s), "held back so far"),
		number(bytes(rule.received_bytes + rule.sent_bytes), "since ebbd began"),
	);
	node.append(head, make("p", reasons(rule), "why"), numbers);
	if (past) {
		const its = (rule.gateway ? past.gateway_rules : past.rules)[title(rule)];
		const own = its ? both(its) : past.others.down.map(() => 0);
		const figure = make("figure");
		figure.append(...picture(own, meanwhile(rule), own, title(rule)));
		if (its) figure.append(...delays(its.queue_us, title(rule)));
		node.append(figure);
	}
	node.append(make("p", laws(rule), "soft"), connections(rule));
	return node;
}

async function flip(rule, button) {
	button.disabled = true;
	try {
		const whose = rule.gateway ? { gateway: rule.gateway } : { rule: rule.name };
		await ask("switch", { ...whose, off: rule.state !== "off" });
		// The service does it within a second.
		await new Promise((go) => setTimeout(go, 1100));
		await look();
	} catch (error) {
		tell(error);
	}
}

function tell(error) {
	const summary = document.getElementById("summary");
	summary.textContent = error.message;
	summary.className = "error";
}

function show(now) {
	const yields = now.rules.filter((rule) => rule.flows.some((flow) => flow.reason));
	const summary = document.getElementById("summary");
	summary.className = "";
	summary.textContent = now.rules.length
		? `${now.rules.length} rule${now.rules.length === 1 ? "" : "s"}, yielding now: ${yields.length}`
		: "There are no rules in force.";
	// The keyboard stays where it is, whatever is drawn again.
	const place = [...document.querySelectorAll("button, summary")].indexOf(document.activeElement);
	document.getElementById("rules").replaceChildren(...now.rules.map((rule) => card(now, rule)));
	if (place >= 0) document.querySelectorAll("button, summary")[place]?.focus();
	const hand = Object.entries(now.by_hand).map(([kind, count]) => `${kind}: ${count}`);
	document.getElementById("by-hand").textContent = hand.length
		? `Held by hand, by ebb run and its like: ${hand.join(", ")}` : "";
	if (past) {
		document.getElementById("rest").hidden = false;
		const others = both(past.others);
		const none = others.map(() => 0);
		const drawn = picture(none, others, others, "Everything else");
		document.getElementById("others").replaceChildren(...drawn);
	}
}

async function look() {
	const now = await ask("now.json");
	// ebbd may not have looked again meanwhile.
	if (latest && now.at_unix_s > latest.at_unix_s) before = latest;
	latest = now;
	if (!isPressed) show(now);
}

async function goOn() {
	let due = 0;
	for (;;) {
		try {
			if (Date.now() >= due) {
				past = await ask("history.json");
				due = Date.now() + HISTORY_EVERY_MS;
			}
			await look();
		} catch (error) {
			tell(error);
		}
		await new Promise((go) => setTimeout(go, LOOK_EVERY_MS));
	}
}

goOn();
