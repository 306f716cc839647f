// SPDX-License-Identifier: Apache-2.0 OR MIT

// both_ways ADDRESS PORT: asks for bytes ("d") on one connection, sends bytes ("u") on
// another, each in a goroutine, and says "ready". Ends with its standard input.
//
// Built by the tests without cgo: no C library, and Go's own poller.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"os"
)

func connect(what string) net.Conn {
	connection, err := net.Dial("tcp", net.JoinHostPort(os.Args[1], os.Args[2]))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := io.WriteString(connection, what); err != nil {
		log.Fatal(err)
	}
	return connection
}

func receive(connection net.Conn) {
	buffer := make([]byte, 65536)
	for {
		if _, err := connection.Read(buffer); err != nil {
			log.Fatal("receive: ", err)
		}
	}
}

func transmit(connection net.Conn) {
	buffer := make([]byte, 65536)
	for {
		if _, err := connection.Write(buffer); err != nil {
			log.Fatal("send: ", err)
		}
	}
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("both_ways ADDRESS PORT")
	}
	go receive(connect("d"))
	go transmit(connect("u"))
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
}
